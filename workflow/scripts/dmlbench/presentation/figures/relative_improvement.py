"""The average improvement of losses over an older one."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation.figures.scores_by_form import FORMS
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Printed, RankingMetric

NEEDS = "combined_folds_with_references"


class RelativeImprovement(Kind):
    """One panel for each reference, two bars for each data set, like musgrave2020's figure 5.

    A bar is the mean over all other losses of (score / the reference's score - 1), seed by seed; a
    whisker is the 95% interval of the mean over seeds, a hollow diamond what the printed numbers
    give.

    Attributes:
        references: the losses to compare with, a panel each.
        metric: what is compared.
        printed: the printed numbers.
    """

    references: Sequence[str]
    metric: RankingMetric
    printed: Printed | None = None

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores of combined folds.

        Raises:
            UserError: there are no scores of combined folds, or none of a reference.
        """
        ours = select(scores, selection=self.selection, metrics=[self.metric])
        ours = ours[ours.fold.isin(list(FORMS))]
        datasets = list(dict.fromkeys(ours.dataset))
        with style.house():
            figure = Figure(figsize=(1.8 + 3.2 * len(self.references), 3.4))
            grid = figure.subplots(1, len(self.references), squeeze=False, sharey=True)[0]
            for reference, axes in zip(self.references, grid, strict=True):
                found = summarize(improvements(ours, reference), ["dataset", "fold"])
                self._panel(axes, found, datasets)
                self._printed(axes, reference, datasets)
                axes.set_xticks(range(len(datasets)), [self.name(each) for each in datasets])
                heading = f"over {self.name(reference)}"
                axes.set_title(heading, fontsize=9, fontweight="normal", pad=5)
                axes.axhline(0, color=style.INK, lw=0.8)
            grid[0].set_ylabel(f"{self.name(self.metric)}, improvement (%)")
            figure.suptitle(self.title, x=0.02, y=0.985, ha="left", fontsize=11, fontweight="bold")
            note = f"{selected(self.selection)} Mean over the other losses."
            note += " Diamond: of the printed numbers." if self.printed is not None else ""
            figure.text(0.02, 0.89, note, color=style.SOFT, fontsize=8.5)
            figure.tight_layout(rect=(0, 0, 1, 0.89))
            grid[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _panel(self, axes, found: pd.DataFrame, datasets: Sequence[str]) -> None:
        for side, (form, color) in zip((-0.2, 0.2), FORMS.items(), strict=True):
            rows = found[found.fold == form].set_index("dataset").reindex(list(datasets))
            xs = [place + side for place in range(len(datasets))]
            axes.bar(xs, rows["mean"], 0.37, color=style.tint(color, 0.75), label=f"folds {form}")
            axes.errorbar(xs, rows["mean"], rows["half"], ls="", color=style.INK, lw=0.8, capsize=2)

    def _printed(self, axes, reference: str, datasets: Sequence[str]) -> None:
        if self.printed is None:
            return
        numbers = self.printed[(self.printed.metric == self.metric) & (self.printed.why == "")]
        numbers = numbers[numbers.fold.isin(list(FORMS))].assign(seed=0)
        numbers = numbers.assign(value=numbers.number)
        found = improvements(numbers, reference).set_index(["dataset", "fold"])["value"]
        for (dataset, form), value in found.items():
            if dataset in datasets:
                side = -0.2 if form == "concatenated" else 0.2
                style.printed(axes, [datasets.index(dataset) + side], [value])


def improvements(scores: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Mean improvement of all other methods over a reference, in percent of its score.

    Args:
        scores: dataset, fold, seed, method and value.

    Returns:
        Frame with dataset, fold, seed and value.

    Raises:
        UserError: no score of the reference, or no other.
    """
    keys = ["dataset", "fold", "seed"]
    wide = scores.pivot_table(index=keys, columns="method", values="value", sort=False)
    if reference not in wide or len(wide.columns) < 2:
        raise UserError(f"no scores of {reference} and of another method to compare")
    ratio = wide.drop(columns=reference).div(wide[reference], axis=0)
    return (100 * (ratio.mean(axis=1) - 1)).rename("value").reset_index()

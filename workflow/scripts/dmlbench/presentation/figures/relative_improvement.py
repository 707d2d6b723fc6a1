"""The average improvement of losses over an older one."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import style
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.figures.scores_by_form import FORMS, form_bars
from dmlbench.presentation.kind import Kind
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

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        ours = select(scores, selection=self.selection, metrics=[self.metric])
        ours = ours[ours.fold.isin(list(FORMS))]
        datasets = list(dict.fromkeys(ours.dataset))
        label = f"{self.name(self.metric)}, improvement (%)"
        figure, panels = style.panels(
            self.references, width=3.2, height=3.4, margin=1.8, sharey=True, label=label
        )
        for reference, axes in panels.items():
            means = summarize(improvements(ours, reference, self.metric), ["dataset", "fold"])
            form_bars(axes, means, "dataset", datasets, self._printed(reference))
            axes.set_xticks(range(len(datasets)), [self.name(each) for each in datasets])
            style.heading(axes, f"over {self.name(reference)}")
            axes.axhline(0, color=style.INK, lw=0.8)
        note = f"{self.selected} Mean over the other losses."
        note += " Diamond: of the printed numbers." if self.printed is not None else ""
        style.head_of_panels(figure, self.title, note)
        style.legend(axes)
        return figure

    def _printed(self, reference: str) -> dict[tuple[str, str], float]:
        if self.printed is None:
            return {}
        numbers = placed_values(self.printed).query("metric == @self.metric").assign(seed=0)
        numbers = numbers[numbers.fold.isin(list(FORMS))]
        means = improvements(numbers, reference, self.metric)
        return means.set_index(["dataset", "fold"])["value"].to_dict()


def improvements(scores: pd.DataFrame, reference: str, metric: str) -> pd.DataFrame:
    """Mean improvement of all other methods over a reference, in percent of its score.

    Args:
        scores: dataset, fold, seed, method and value of the metric.

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
    sign = -1 if quantity(metric).better == "lower" else 1
    return (sign * 100 * (ratio.mean(axis=1) - 1)).rename("value").reset_index()

"""Scores of folds concatenated and separated, loss by loss."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._scores import printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric, Printed

NEEDS = "combined_folds"

FORMS = {"concatenated": "#cc3311", "separated": "#117733"}
"""Form of combined folds -> color."""


class ScoresByForm(Kind):
    """One panel for each data set, two bars for each loss, like musgrave2020's figure 3.

    A whisker is the 95% interval of the mean over seeds, a hollow diamond the printed number.

    Attributes:
        metric: what is drawn.
        printed: the printed numbers.
    """

    metric: Metric
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        shown = select(scores, selection=self.selection, metrics=[self.metric])
        shown = shown[shown.fold.isin(list(FORMS))]
        if shown.empty:
            raise UserError(f"no scores of {self.metric} of combined folds at {self.selection}")
        means = summarize(shown, ["dataset", "method", "fold"])
        datasets = list(dict.fromkeys(means.dataset))
        figure = Figure(figsize=(1.6 + 0.75 * len(self.methods), 1.0 + 2.1 * len(datasets)))
        grid = figure.subplots(len(datasets), 1, squeeze=False, sharex=True)[:, 0]
        values = printed_values(self.printed, "dataset", "method", "fold", metric=self.metric)
        for dataset, axes in zip(datasets, grid, strict=True):
            ours = means[means.dataset == dataset]
            printed = {key[1:]: value for key, value in values.items() if key[0] == dataset}
            form_bars(axes, ours, "method", self.methods, printed)
            axes.set_ylabel(f"{self.name(dataset)}\n{self.with_unit(self.metric)}")
        labels = [self.name(method) for method in self.methods]
        grid[-1].set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)
        note = f"{self.selected} Whisker: 95% interval over seeds."
        note += " Diamond: printed." if values else ""
        style.head_of_panels(figure, self.title, note)
        style.legend(grid[0])
        return figure


def form_bars(
    axes, means: pd.DataFrame, by: str, keys: Sequence[str], printed: Mapping[tuple, float]
) -> None:
    """Two bars for each key, one per form of folds, with whiskers and the printed numbers.

    Args:
        means: rows of `summarize` with fold and the column `by`, which has the keys.
        printed: (key, form) -> printed number.
    """
    for side, (form, color) in zip((-0.2, 0.2), FORMS.items(), strict=True):
        rows = means[means.fold == form].set_index(by)
        there = {place + side: key for place, key in enumerate(keys) if key in rows.index}
        x, rows = list(there), rows.loc[list(there.values())]
        axes.bar(x, rows["mean"], 0.37, color=style.tint(color, 0.75), label=f"folds {form}")
        axes.errorbar(x, rows["mean"], rows["half"], ls="", color=style.INK, lw=0.8, capsize=2)
        known = {x: printed[key, form] for x, key in there.items() if (key, form) in printed}
        style.printed(axes, list(known), list(known.values()))

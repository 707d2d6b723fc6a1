"""Scores of folds concatenated and separated, loss by loss."""

from functools import cached_property

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

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(self.printed, "dataset", "method", "fold", metric=self.metric)

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
        for dataset, axes in zip(datasets, grid, strict=True):
            self._panel(axes, means[means.dataset == dataset])
            axes.set_ylabel(f"{self.name(dataset)}\n{self.with_unit(self.metric)}")
        labels = [self.name(method) for method in self.methods]
        grid[-1].set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)
        note = f"{self.selected} Whisker: 95% interval over seeds."
        note += " Diamond: printed." if self._values else ""
        style.head_of_panels(figure, self.title, note)
        style.legend(grid[0])
        return figure

    def _panel(self, axes, means: pd.DataFrame) -> None:
        at = {(row.method, row.fold): row for row in means.itertuples()}
        for side, (form, color) in zip((-0.2, 0.2), FORMS.items(), strict=True):
            places = [(x + side, at.get((m, form))) for x, m in enumerate(self.methods)]
            drawn = [(x, row) for x, row in places if row is not None]
            xs, heights = [x for x, _ in drawn], [row.mean for _, row in drawn]
            axes.bar(xs, heights, 0.37, color=style.tint(color, 0.75), label=f"folds {form}")
            whiskers = [row.half for _, row in drawn]
            axes.errorbar(xs, heights, whiskers, ls="", color=style.INK, lw=0.8, capsize=1.5)
            for x, row in drawn:
                key = (row.dataset, row.method, form)
                if key in self._values:
                    style.printed(axes, [x], [self._values[key]])

"""Scores against measures of the same runs, a point for each method."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import style
from dmlbench.presentation._points import points
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import rounded
from dmlbench.statistics.correlation import correlate
from dmlbench.values import Metric

NEEDS = "points"


class ScatterWithCorrelation(Kind):
    """One panel for each data set (rows) and measure (columns), its correlation above it.

    A mark is a method with its variant, the mean over seeds; whiskers are standard deviations.
    Each has its own color and mark (`style.looks`).

    Attributes:
        x: the metrics of the training images along x, one column of panels each.
        y: the metric of the test images along y.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        datasets = list(dict.fromkeys(scores.dataset))
        looks = style.looks(self.in_order(zip(scores.method, scores.variant, strict=True)))
        figure = Figure(figsize=(3.2 * len(self.x) + 2.4, 2.9 * len(datasets) + 0.9))
        grid = figure.subplots(len(datasets), len(self.x), squeeze=False, sharey="row")
        for dataset, row in zip(datasets, grid, strict=True):
            ours = scores[scores.dataset == dataset]
            for x, axes in zip(self.x, row, strict=True):
                self._panel(axes, ours, x, looks)
            where = f"{self.name(dataset)}, " if len(datasets) > 1 else ""
            row[0].set_ylabel(f"{where}{self.with_unit(self.y)}")
        for x, axes in zip(self.x, grid[-1], strict=True):
            axes.set_xlabel(f"{self.with_unit(x)} of the training images")
        note = f"{self.selected} r: Pearson, with its 95 % bootstrap interval."
        style.head_of_panels(figure, self.title, note)
        style.legend(grid[0][-1], of=grid[0][0])
        return figure

    def _panel(self, axes, scores: pd.DataFrame, x: str, looks) -> None:
        measured = points(scores, x=x, y=self.y, selection=self.selection)
        rows = {(row.method, row.variant): row for row in measured.itertuples()}
        names = self.legend(looks)
        for key, look in looks.items():
            row = rows.get(key)
            where = ([row.x], [row.y]) if row else ([], [])
            spread = (row.y_std, row.x_std) if row and row.seeds > 1 else (None, None)
            axes.errorbar(*where, *spread, ls="", elinewidth=0.7, label=names[key], **look)
        r = correlate(measured.x, measured.y)
        pearson, low, high = (rounded(x, 2, sign="+") for x in (r.pearson, r.low, r.high))
        note = f"r = {pearson} [{low}, {high}], {r.points} points"
        axes.set_title(note.replace("-", "\u2212"), fontsize=8.5, fontweight="normal", pad=5)
        axes.margins(0.1)

"""Scores against measures of the same runs, a point for each method."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation._points import points
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected, with_unit
from dmlbench.presentation.numbers import rounded
from dmlbench.statistics.correlation import correlate
from dmlbench.values import Metric

NEEDS = "points"


class ScatterWithCorrelation(Kind):
    """One panel for each data set (rows) and measure (columns), its correlation above it.

    A mark is a method with its variant, the mean over seeds; whiskers are standard deviations.
    Each has its own color and mark (`style.looks`).

    Attributes:
        x: the metrics along x, one column of panels each.
        y: the metric along y.
        x_role, y_role: whose embeddings are measured.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"
    x_role: Literal["train", "validation", "test"] = "train"
    y_role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores."""
        datasets = list(dict.fromkeys(scores.dataset))
        looks = style.looks(self._keys(scores))
        with style.house():
            figure = Figure(figsize=(3.2 * len(self.x) + 2.4, 2.9 * len(datasets) + 0.9))
            grid = figure.subplots(len(datasets), len(self.x), squeeze=False, sharey="row")
            for dataset, row in zip(datasets, grid, strict=True):
                ours = scores[scores.dataset == dataset]
                for x, axes in zip(self.x, row, strict=True):
                    self._panel(axes, ours, x, looks)
                where = f"{self.name(dataset)}, " if len(datasets) > 1 else ""
                row[0].set_ylabel(f"{where}{with_unit(self.titles, self.y)}")
            for x, axes in zip(self.x, grid[-1], strict=True):
                unit = " (%)" if quantity(x).percent else ""
                axes.set_xlabel(f"{self.name(x)} of the training images{unit}")
            note = f"{selected(self.selection)} r: Pearson, with its 95 % bootstrap interval."
            style.head_of_panels(figure, self.title, note)
            handles, labels = grid[0][0].get_legend_handles_labels()
            grid[0][-1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _keys(self, scores: pd.DataFrame) -> list[tuple[str, str]]:
        there = dict.fromkeys(zip(scores.method, scores.variant, strict=True))
        order = {method: place for place, method in enumerate(self.methods)}
        return sorted(there, key=lambda key: order.get(key[0], len(order)))

    def _panel(self, axes, scores: pd.DataFrame, x: str, looks) -> None:
        found = points(
            scores,
            x=x,
            y=self.y,
            selection=self.selection,
            x_role=self.x_role,
            y_role=self.y_role,
        )
        rows = {(row.method, row.variant): row for row in found.itertuples()}
        for (method, variant), look in looks.items():
            label = _variants.labeled(self.titles, method, variant)
            row = rows.get((method, variant))
            where = ([row.x], [row.y]) if row else ([], [])
            spread = (row.y_std, row.x_std) if row and row.seeds > 1 else (None, None)
            axes.errorbar(*where, *spread, ls="", elinewidth=0.7, label=label, **look)
        r = correlate(found.x, found.y)
        pearson, low, high = (rounded(x, 2, sign="+") for x in (r.pearson, r.low, r.high))
        note = f"r = {pearson} [{low}, {high}], {r.points} points"
        axes.set_title(note.replace("-", "\u2212"), fontsize=8.5, fontweight="normal", pad=5)
        axes.margins(0.1)

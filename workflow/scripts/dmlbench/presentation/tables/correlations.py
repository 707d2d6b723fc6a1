"""How measures of runs correlate with their scores, over methods and variants."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation._points import points
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.statistics.correlation import correlate
from dmlbench.values import Metric

NEEDS = "points"

_COLUMNS = (
    Column("pearson", "Pearson", signed=True),
    Column("low", "from", "In 95 %", signed=True),
    Column("high", "to", "In 95 %", signed=True),
    Column("spearman", "Spearman", signed=True),
    Column("points", "Points", decimals=0),
)


class Correlations(Kind):
    """The correlation of each of some metrics with another one, one panel per data set.

    A point is a method with its variant, the mean over its seeds.

    Attributes:
        x: the metrics, a row each.
        y: the metric that they are correlated with.
        x_role, y_role: whose embeddings are measured.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"
    x_role: Literal["train", "validation", "test"] = "train"
    y_role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Table:
        several = scores.dataset.nunique() > 1
        rows = []
        for dataset, ours in scores.groupby("dataset", sort=False):
            for x in self.x:
                measured = points(
                    ours,
                    x=x,
                    y=self.y,
                    selection=self.selection,
                    x_role=self.x_role,
                    y_role=self.y_role,
                )
                values = tuple(map(Cell, correlate(measured.x, measured.y)))
                rows.append(
                    TableRow(self.name(x), values, panel=self.name(dataset) if several else "")
                )
        return self.table(f"With {self.name(self.y)}", _COLUMNS, rows, caption=self._caption())

    def _caption(self) -> str:
        role = {"train": "training", "test": "test", "validation": "validation"}
        return (
            f"Correlation of measures of the {role[self.x_role]} images with "
            f"{self.name(self.y)} of the {role[self.y_role]} images; a point is a "
            f"method, the mean over its seeds. {self.selected} In 95 %: "
            "bootstrap over points (expanded percentiles)."
        )

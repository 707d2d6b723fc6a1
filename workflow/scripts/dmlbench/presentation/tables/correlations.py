"""How measures of runs correlate with their scores, over methods and variants."""

from collections.abc import Sequence

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
        x: the metrics of the training images, a row each.
        y: the metric of the test images that they are correlated with.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"

    def __call__(self, scores: pd.DataFrame) -> Table:
        several = scores.dataset.nunique() > 1
        rows = []
        for dataset, ours in scores.groupby("dataset", sort=False):
            for x in self.x:
                measured = points(ours, x=x, y=self.y, selection=self.selection)
                values = tuple(map(Cell, correlate(measured.x, measured.y)))
                rows.append(
                    TableRow(self.name(x), values, panel=self.name(dataset) if several else "")
                )
        caption = (
            f"Correlation of measures of the training images with {self.name(self.y)} of the test "
            f"images; a point is a method, the mean over its seeds. {self.selected} In 95 %: "
            "bootstrap over points (expanded percentiles)."
        )
        return self.table(f"With {self.name(self.y)}", _COLUMNS, rows, caption)

"""How measures of runs correlate with their scores, over methods and variants."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation._points import points
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.statistics.correlation import correlate
from dmlbench.values import Fact, Metric

NEEDS = "points"

_COLUMNS = (
    Column("pearson", "Pearson", better="", signed=True),
    Column("low", "from", "In 95 %", better="", signed=True),
    Column("high", "to", "In 95 %", better="", signed=True),
    Column("spearman", "Spearman", better="", signed=True),
    Column("points", "Points", decimals=0, better=""),
)


class Correlations:
    """The correlation of each of some metrics with another one, one panel per data set.

    A point is a method with its variant, the mean over its seeds.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        x: the metrics, a row each.
        y: the metric that they are correlated with.
        x_role, y_role: whose embeddings are measured.
        selection: the selection rule of the scores.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        x: Sequence[Metric],
        y: Metric = "recall_at_1",
        x_role: Literal["train", "validation", "test"] = "train",
        y_role: Literal["train", "validation", "test"] = "test",
        selection: Fact[str],
    ):
        self.id = id
        self.title = title
        self.x, self.y = list(x), y
        self.roles = {"x_role": x_role, "y_role": y_role}
        self.selection = selection

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of a study's scores."""
        several = scores.dataset.nunique() > 1
        rows = []
        for dataset, ours in scores.groupby("dataset", sort=False):
            for x in self.x:
                found = points(ours, x=x, y=self.y, selection=self.selection, **self.roles)
                values = tuple(map(Cell, correlate(found.x, found.y)))
                rows.append(
                    Row(name(titles, x), values, panel=name(titles, dataset) if several else "")
                )
        return Table(
            id=self.id,
            title=self.title,
            caption=self._caption(titles),
            row_header=f"With {name(titles, self.y)}",
            columns=_COLUMNS,
            rows=tuple(rows),
        )

    def _caption(self, titles: Mapping[str, str]) -> str:
        role = {"train": "training", "test": "test", "validation": "validation"}
        return (
            f"Correlation of measures of the {role[self.roles['x_role']]} images with "
            f"{name(titles, self.y)} of the {role[self.roles['y_role']]} images; a point is a "
            f"method, the mean over its seeds. {selected(self.selection)} In 95 %: "
            "bootstrap over points (expanded percentiles)."
        )

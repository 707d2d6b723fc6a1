"""Rows of methods, columns of numbers on an axis of the variants."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation._axis import along_axis
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Row, Table, legend

NEEDS = "numbers_of_an_axis"


class MeansByAxis(Kind):
    """Mean of one metric over seeds at some numbers of an axis: `projection=5`.

    Attributes:
        axis: the axis of the variants.
        values: the axis's numbers, in the order of the columns.
        metric: any metric of the scores, also one of an experiment.
        role: whose scores.
    """

    axis: str
    values: Sequence[float]
    metric: str
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of a long table, methods in its order.

        Raises:
            UserError: no scores fit, or none at one of the numbers.
        """
        found = along_axis(scores, axis=self.axis, metric=self.metric, role=self.role)
        for value in self.values:
            if not (found.x == value).any():
                raise UserError(f"no scores of {self.metric} at {self.axis}={value:g}")
        cells = {(row.method, row.x): row for row in found.itertuples()}
        columns = [
            Column(
                f"{self.axis}_{value:g}",
                f"{value:g}",
                self.name(self.axis),
                better=quantity(self.metric).better,
            )
            for value in self.values
        ]
        rows = [
            Row(
                self.name(method),
                tuple(_cell(cells.get((method, value))) for value in self.values),
            )
            for method in dict.fromkeys(found.method)
        ]
        seeds = found.seeds.max()
        over = f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
        shown = self.name(self.metric).capitalize() + in_percent(self.titles, [self.metric])
        caption = f"{shown}{over}.{legend(columns)}"
        return Table(self.id, self.title, caption, "Method", tuple(columns), tuple(rows))


def _cell(row) -> Cell:
    if row is None:
        return Cell(None)
    return Cell(row.mean, row.std if row.seeds > 1 else None)

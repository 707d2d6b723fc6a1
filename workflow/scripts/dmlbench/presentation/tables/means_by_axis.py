"""Rows of methods, columns of numbers on an axis of the variants."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation._axis import along_axis
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table, TableRow, legend, summarized
from dmlbench.presentation.texts import in_percent


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
        which = {"metrics": [self.metric], "selection": self.selection, "role": self.role}
        means = along_axis(scores, axis=self.axis, line=["method"], **which)
        for value in self.values:
            if not (means.x == value).any():
                raise UserError(f"no scores of {self.metric} at {self.axis}={value:g}")
        better, group = quantity(self.metric).better, self.name(self.axis)
        columns = [
            Column(f"{self.axis}_{value:g}", f"{value:g}", group, better=better)
            for value in self.values
        ]
        cells = {(row.method, row.x): row for row in means.itertuples()}
        rows = [
            TableRow(
                self.name(method),
                tuple(summarized(cells.get((method, value))) for value in self.values),
            )
            for method in dict.fromkeys(means.method)
        ]
        seeds = means.seeds.max()
        over = f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ""
        shown = self.name(self.metric).capitalize() + in_percent(self.titles, [self.metric])
        return self.table("Method", columns, rows, f"{shown}{over}.{legend(columns)}")

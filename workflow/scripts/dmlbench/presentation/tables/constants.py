"""Numbers that an experiment computes, next to the printed ones."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table
from dmlbench.statistics.summary import in_units, summarize


class Constants(Kind):
    """One row per number: its label, the printed and the computed value.

    Attributes:
        numbers: from top to bottom: `label`; `metric` of the long table; `printed`, as the
            document prints it, if it does.
        decimals: of the computed numbers.
    """

    numbers: Sequence[Mapping[Literal["label", "metric", "printed"], str]]
    decimals: int = 4

    def __call__(self, scores: pd.DataFrame) -> Table:
        means = summarize(in_units(scores), ["metric"]).set_index("metric")["mean"]
        for row in self.numbers:
            if row["metric"] not in means:
                raise unknown("metric of the experiment", row["metric"], means.index)
        columns = (
            Column("printed", "printed"),
            Column("computed", "computed", decimals=self.decimals),
        )
        records = [{**row, "computed": means[row["metric"]]} for row in self.numbers]
        return self.table("Number", columns, self.rows_of(columns, records))

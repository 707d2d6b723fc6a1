"""Numbers that an experiment computes, next to the printed ones."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Fact


class Constants:
    """One row per number: its label, the printed and the computed value.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        rows: from top to bottom: `label`; `metric` of the long table; `printed`, as printed in the
            document, if it is.
        decimals: of the computed numbers.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        rows: Sequence[Mapping[Literal["label", "metric", "printed"], str]],
        decimals: int = 4,
    ):
        self.id = id
        self.title = title
        self.rows = list(rows)
        self.decimals = decimals

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of the experiment's means over seeds.

        Raises:
            UserError: the experiment does not have a metric.
        """
        found = scores.groupby("metric").value.mean()
        for row in self.rows:
            if row["metric"] not in found:
                raise unknown("metric of the experiment", row["metric"], found.index)
        columns = (
            Column("printed", "printed", better=""),
            Column("computed", "computed", decimals=self.decimals, better=""),
        )
        rows = tuple(
            Row(row["label"], (Cell(row.get("printed")), Cell(found[row["metric"]])))
            for row in self.rows
        )
        return Table(self.id, self.title, "", "Number", columns, rows)

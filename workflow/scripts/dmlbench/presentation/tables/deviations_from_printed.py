"""How far printed numbers are from ours, in standard deviations of ours."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation import _next_to_printed
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.values import Metric, Printed

NEEDS = "next_to_printed"


class DeviationsFromPrinted(Kind):
    """(Printed - ours) / standard deviation of our seeds: one row per method and variant.

    A cell is empty for one seed, or if all seeds agree.

    Attributes:
        metrics: columns.
        printed: the printed numbers at their places, each of one run.
        role: whose images are scored: train, validation or test.
    """

    metrics: Sequence[Metric]
    printed: Printed
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Table:
        which = {"metrics": self.metrics, "selection": self.selection, "roles": [self.role]}
        compared = _next_to_printed.next_to_printed(scores, self.printed, **which)
        both = compared[compared.status == "both"]
        deviations = -both.difference / both.ours_std.where(both.ours_std > 0)
        keys = zip(both.method, both.variant, both.metric, strict=True)
        by_key = dict(zip(keys, deviations, strict=True))
        rows = [
            TableRow(
                self.labeled(*key),
                tuple(Cell(by_key.get((*key, metric))) for metric in self.metrics),
            )
            for key in _next_to_printed.lines(placed_values(self.printed))
        ]
        columns = [
            Column(metric, self.name(metric), decimals=1, signed=True) for metric in self.metrics
        ]
        within = int((deviations.abs() <= 2).sum())
        caption = (
            f"Printed less our mean, in standard deviations of ours over {both.seeds.max()} seeds. "
            f"{within} of {deviations.count()} are within 2. {self.selected}"
        )
        return self.table("Loss", columns, rows, caption.strip())

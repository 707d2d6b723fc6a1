"""How far printed numbers are from ours, in standard deviations of ours."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation import _beside, _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Metric, Printed

NEEDS = "next_to_printed"


class DeviationsFromPrinted(Kind):
    """(Printed - ours) / standard deviation of our seeds: one row per method and variant.

    Attributes:
        metrics: columns.
        printed: the printed numbers at their places, each of one run.
        role: whose images are scored: train, validation or test.
    """

    metrics: Sequence[Metric]
    printed: Printed
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of a study's scores; a cell is empty for one seed, or if all seeds agree.

        Raises:
            UserError: no scores, or several for one cell.
        """
        compared = _beside.next_to_printed(
            scores,
            self.printed,
            metrics=self.metrics,
            selection=self.selection,
            roles=[self.role],
        )
        both = compared[compared.status == "both"]
        deviations = -both.difference / both.ours_std.where(both.ours_std > 0)
        found = dict(
            zip(zip(both.method, both.variant, both.metric, strict=True), deviations, strict=True)
        )
        printed = self.printed[self.printed.why == ""]
        labels = dict.fromkeys(zip(printed.method, printed.variant, strict=True))
        rows = tuple(
            Row(
                ", ".join(filter(None, [self.name(method), _variants.label(self.titles, variant)])),
                tuple(Cell(found.get((method, variant, metric))) for metric in self.metrics),
            )
            for method, variant in labels
        )
        columns = tuple(
            Column(metric, self.name(metric), decimals=1, better="", signed=True)
            for metric in self.metrics
        )
        known = [value for value in found.values() if not pd.isna(value)]
        within = sum(abs(value) <= 2 for value in known)
        caption = (
            f"Printed less our mean, in standard deviations of ours over {both.seeds.max()} seeds. "
            f"{within} of {len(known)} are within 2. {selected(self.selection)}"
        )
        return Table(self.id, self.title, caption.strip(), "Loss", columns, rows)

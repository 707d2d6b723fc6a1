"""How far printed numbers are from ours, in standard deviations of ours."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.presentation import _beside, _variants
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Fact, Metric, Printed

NEEDS = "next_to_printed"


class DeviationsFromPrinted:
    """(Printed - ours) / standard deviation of our seeds: one row per method and variant.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        metrics: columns.
        selection: the selection rule of the scores.
        printed: the printed numbers at their places, each of one run.
        role: whose images are scored: train, validation or test.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        metrics: Sequence[Metric],
        selection: Fact[str],
        printed: Printed,
        role: Literal["train", "validation", "test"] = "test",
    ):
        self.id = id
        self.title = title
        self.metrics = list(metrics)
        self.selection = selection
        self.printed = printed
        self.role = role

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
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
                ", ".join(filter(None, [name(titles, method), _variants.label(titles, variant)])),
                tuple(Cell(found.get((method, variant, metric))) for metric in self.metrics),
            )
            for method, variant in labels
        )
        columns = tuple(
            Column(metric, name(titles, metric), decimals=1, better="", signed=True)
            for metric in self.metrics
        )
        known = [value for value in found.values() if not pd.isna(value)]
        within = sum(abs(value) <= 2 for value in known)
        caption = (
            f"Printed less our mean, in standard deviations of ours over {both.seeds.max()} seeds. "
            f"{within} of {len(known)} are within 2. {selected(self.selection)}"
        )
        return Table(self.id, self.title, caption.strip(), "Loss", columns, rows)

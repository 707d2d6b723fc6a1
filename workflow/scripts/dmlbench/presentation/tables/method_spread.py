"""How far apart the methods are, variant by variant."""

from collections.abc import Mapping, Sequence

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent, name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.statistics.paired import spread_of_methods
from dmlbench.statistics.summary import select
from dmlbench.values import Metric

NEEDS = "equal_methods"


class MethodSpread(Kind):
    """The standard deviation of the methods' scores: one row per variant, by data set.

    Attributes:
        metrics: the groups of columns.
        against: the variant that is first.
    """

    metrics: Sequence[Metric]
    against: str

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of a study's scores.

        Raises:
            UserError: methods lack a seed or a variant of the others.
        """
        shown = select(scores, selection=self.selection, metrics=self.metrics)
        found = spread_of_methods(shown)
        cells = {(row.dataset, row.variant, row.metric): row for row in found.itertuples()}
        variants = sorted(dict.fromkeys(found.variant), key=lambda name: name != self.against)
        datasets = list(dict.fromkeys(found.dataset))
        rows = [
            Row(
                _variants.label(self.titles, variant) or "as the recipe says",
                tuple(
                    Cell(value)
                    for metric in self.metrics
                    for row in [cells[dataset, variant, metric]]
                    for value in (row.spread, row.low, row.high)
                ),
                panel=self.name(dataset) if len(datasets) > 1 else "",
            )
            for dataset in datasets
            for variant in variants
            if (dataset, variant, self.metrics[0]) in cells
        ]
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = (
            f"Standard deviation of the test scores of {found.methods.max()} losses"
            f"{unit and ','}{unit}. {selected(self.selection)}"
        )
        if found.seeds.max() > 1:
            caption += (
                f" Mean over {found.seeds.max()} seeds and 95 % interval of it (Student's t)."
            )
        return Table(
            id=self.id,
            title=self.title,
            caption=caption,
            row_header="Variant",
            columns=tuple(
                column for metric in self.metrics for column in _columns(metric, self.titles)
            ),
            rows=tuple(rows),
        )


def _columns(metric: str, titles: Mapping[str, str]) -> list[Column]:
    group = name(titles, metric)
    return [
        Column(metric, "std", group, better="lower" if quantity(metric).better else ""),
        Column(f"{metric}_low", "from", group, better=""),
        Column(f"{metric}_high", "to", group, better=""),
    ]

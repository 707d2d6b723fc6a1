"""How far apart the methods are, variant by variant."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table
from dmlbench.statistics.other_classes import ABOUT
from dmlbench.statistics.spread import spread_of_methods
from dmlbench.statistics.summary import select
from dmlbench.values import Metric


class MethodSpread(Kind):
    """The standard deviation of the methods' scores: one row per variant, by data set.

    Attributes:
        metrics: the groups of columns.
        against: the variant that is first.
    """

    metrics: Sequence[Metric]
    against: str

    def __call__(self, scores: pd.DataFrame) -> Table:
        spreads = spread_of_methods(select(scores, selection=self.selection, metrics=self.metrics))
        cells = {(row.dataset, row.variant, row.metric): row for row in spreads.itertuples()}
        variants = sorted(dict.fromkeys(spreads.variant), key=lambda name: name != self.against)
        datasets = list(dict.fromkeys(spreads.dataset))
        records = []
        for dataset in datasets:
            panel = self.name(dataset) if len(datasets) > 1 else ""
            for variant in variants:
                if (dataset, variant, self.metrics[0]) in cells:
                    label = _variants.label(self.titles, variant) or "as the recipe says"
                    record = {"label": label, "panel": panel}
                    for metric in self.metrics:
                        row = cells[dataset, variant, metric]
                        record |= bounded(metric, row.spread, row.low, row.high)
                    records.append(record)
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = self.said(methods=spreads.methods.max(), unit=f"{unit and ','}{unit}")
        repeats, of = spreads.repeats.max(), spreads.unit.iloc[0]
        if repeats > 1:
            caption += self.said("repeated", repeats=repeats, of=of, about=ABOUT[of])
        columns = self.shown(*self.metrics)
        return self.table("Variant", columns, self.rows_of(columns, records), caption)

"""Which losses are above or below the others over all networks and data sets."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table
from dmlbench.statistics.order_means import over_cells
from dmlbench.values import Metric


class OrderMeans(Kind):
    """One row per loss: its mean over networks and data sets less that of all losses.

    Attributes:
        metrics: a panel each, the best loss first.
    """

    metrics: Sequence[Metric]

    def __call__(self, scores: pd.DataFrame) -> Table:
        records = []
        for metric, table in by_metric(self, scores, self.metrics).items():
            panel = self.name(metric) if len(self.metrics) > 1 else ""
            lower = quantity(metric).better == "lower"
            found = over_cells(table).sort_values("value", ascending=lower, kind="stable")
            for method, row in found.iterrows():
                records.append({"label": self.name(method), "panel": panel} | row.to_dict())
        columns = self.shown()
        rows = self.rows_of(columns, records)
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = self.said(losses=len(table), unit=f"{unit and ','}{unit}")
        return self.table("Loss", columns, rows, caption)

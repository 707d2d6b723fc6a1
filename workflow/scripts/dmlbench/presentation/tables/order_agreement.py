"""How well the order of losses on one network and data set predicts that on another."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.table import Table
from dmlbench.statistics.generalizability import CELL, agreements
from dmlbench.values import Metric


class OrderAgreement(Kind):
    """One row for what two runs have in common: how their scores of the losses correlate.

    A run is on one network, data set and split of the classes. Two splits of one network and data
    set are the ceiling: what they lack is due to classes, search and seed.

    Attributes:
        metrics: a panel each.
    """

    metrics: Sequence[Metric]

    def __call__(self, scores: pd.DataFrame) -> Table:
        records = []
        for metric, table in by_metric(self, scores, self.metrics).items():
            panel = self.name(metric) if len(self.metrics) > 1 else ""
            for relation, found in agreements(table).items():
                estimates = {"pearson": found.pearson, "spearman": found.spearman}
                if relation != CELL:
                    estimates["below"] = found.below
                record = {"label": self.said(relation), "panel": panel}
                for name, estimate in estimates.items():
                    record |= bounded(name, *estimate[:3])
                pairs = {"lowest": found.lowest, "highest": found.highest}
                records.append(record | pairs | {"pairs": found.pearson.number})
        columns = self.shown()
        rows = self.rows_of(columns, records)
        return self.table("Two runs on", columns, rows, self.said(losses=len(table)))

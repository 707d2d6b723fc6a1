"""How many networks and data sets an order of losses must average before it predicts another."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation._orders import by_metric
from dmlbench.presentation._sentences import minus
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.numbers import rounded
from dmlbench.presentation.table import Table
from dmlbench.statistics.generalizability import CELL, agreements
from dmlbench.statistics.order_means import averaged, lengthened
from dmlbench.values import Count, Metric
from dmlbench.words import counted


class OrderByCells(Kind):
    """One row per number of networks and data sets over which an order is averaged.

    Attributes:
        metrics: the groups of columns.
        designs: pairs of numbers: of networks, and of data sets.
    """

    metrics: Sequence[Metric]
    designs: Sequence[Sequence[Count]] = ((1, 1), (1, 3), (2, 3), (3, 3), (5, 5), (10, 10))

    def __call__(self, scores: pd.DataFrame) -> Table:
        records = [
            {"label": f"{counted(networks, 'network')} × {counted(datasets, 'data set')}"}
            for networks, datasets in self.designs
        ]
        notes = []
        for metric, table in by_metric(self, scores, self.metrics).items():
            notes += self._ceiling(metric, table)
            for record, pair in zip(records, averaged(table, self.designs), strict=True):
                for place, found in zip(("new", "own"), pair, strict=True):
                    record |= bounded(f"{metric}_{place}", *found[:3])
        columns = self.shown(*self.metrics)
        rows = self.rows_of(columns, records)
        caption = self.said(losses=len(table), cells=pair[0].number)
        return self.table("Mean over", columns, rows, caption, notes)

    def _ceiling(self, metric: str, table: pd.DataFrame) -> list[str]:
        """How well a cell would predict itself on other classes, if there are several splits."""
        found = agreements(table).get(CELL)
        if found is None:
            return []
        splits = table.columns.get_level_values("split").nunique()
        ends = [lengthened(each, splits) for each in found.pearson[:3]]
        value, low, high = (minus(rounded(each, 2, sign="+")) for each in ends)
        said = {"value": value, "low": low, "high": high, "splits": splits}
        return [self.said("ceiling", metric=self.name(metric), **said)]

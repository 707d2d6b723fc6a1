"""How much of the variance between losses is the loss, and how much depends on the rest."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.table import Table
from dmlbench.statistics.generalizability import AHEAD, INTERACTIONS, shares
from dmlbench.values import Metric


class OrderShares(Kind):
    """One row per source of the variance between losses on several networks and data sets.

    The first panel is of scores as they are, the second of runs that are each divided by the
    standard deviation of their losses.

    Attributes:
        metrics: the groups of columns.
    """

    metrics: Sequence[Metric]

    def __call__(self, scores: pd.DataFrame) -> Table:
        tables = by_metric(self, scores, self.metrics)
        records = [record for scaled in (False, True) for record in self._records(tables, scaled)]
        table = tables[self.metrics[0]]
        networks, datasets = (table.columns.get_level_values(level).nunique() for level in (0, 1))
        caption = self.said(losses=len(table), networks=networks, datasets=datasets)
        columns = self.shown(*self.metrics)
        return self.table("Source", columns, self.rows_of(columns, records), caption)

    def _records(self, tables: Mapping[str, pd.DataFrame], scaled: bool) -> Iterator[dict]:
        panel = self.said("scaled" if scaled else "as_scored")
        found = {metric: shares(table, scaled=scaled) for metric, table in tables.items()}
        for source in found[self.metrics[0]]:
            record = {"label": self.said(source), "panel": panel}
            record["baseline"] = source in (INTERACTIONS, AHEAD)
            for metric, of_metric in found.items():
                share, low, high, deviation = of_metric[source]
                percents = (100 * each for each in (share, low, high))
                record |= bounded(metric, *percents, ending="_share")
                record |= {} if scaled else {f"{metric}_std": deviation}
            yield record

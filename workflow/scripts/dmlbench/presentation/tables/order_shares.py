"""How much of the variance between losses is the loss, and how much depends on the rest."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Table, TableRow, known
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
        rows = [
            row
            for scaled in (False, True)
            for row in self._rows(
                [shares(table, scaled=scaled) for table in tables.values()], scaled
            )
        ]
        table = tables[self.metrics[0]]
        networks, datasets = (table.columns.get_level_values(level).nunique() for level in (0, 1))
        caption = self.said(losses=len(table), networks=networks, datasets=datasets)
        columns = [column for metric in self.metrics for column in self.shown(metric)]
        return self.table("Source", columns, rows, caption)

    def _rows(self, found: list[dict], scaled: bool) -> list[TableRow]:
        rows, panel = [], self.said("scaled" if scaled else "as_scored")
        for source in found[0]:
            cells = []
            for share, low, high, deviation in (each[source] for each in found):
                percents = [100 * share, 100 * low, 100 * high]
                cells += map(known, [*percents, None if scaled else deviation])
            of_others = source in (INTERACTIONS, AHEAD)
            rows.append(TableRow(self.said(source), tuple(cells), of_others, panel))
        return rows

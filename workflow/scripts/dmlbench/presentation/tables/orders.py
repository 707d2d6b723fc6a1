"""Orders of losses over networks, data sets and splits of the classes."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.table import Table
from dmlbench.presentation.texts import in_percent, minus, rounded
from dmlbench.statistics.generalizability import AHEAD, CELL, INTERACTIONS, agreements, shares
from dmlbench.statistics.order_means import averaged, lengthened, over_cells
from dmlbench.values import Count, Metric
from dmlbench.words import counted


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
        return self.listed("Source", columns, records, caption)

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
        return self.listed("Two runs on", self.shown(), records, self.said(losses=len(table)))


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
        caption = self.said(losses=len(table), cells=pair[0].number)
        return self.listed("Mean over", self.shown(*self.metrics), records, caption, notes)

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
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = self.said(losses=len(table), unit=f"{unit and ','}{unit}")
        return self.listed("Loss", self.shown(), records, caption)

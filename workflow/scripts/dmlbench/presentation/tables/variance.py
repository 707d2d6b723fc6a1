"""Spread of the scores between losses, and what it is due to."""

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind, bounded
from dmlbench.presentation.table import Table
from dmlbench.presentation.texts import in_percent
from dmlbench.statistics.other_classes import ABOUT, SEED, SPLIT
from dmlbench.statistics.spread import spread_of_methods
from dmlbench.statistics.summary import select
from dmlbench.statistics.variance import (
    FIRST,
    REST,
    SECOND,
    TOGETHER,
    Source,
    shares_of_summaries,
    variance_shares,
)
from dmlbench.values import Metric, Printed
from dmlbench.words import counted


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
        return self.listed("Variant", self.shown(*self.metrics), records, caption)


class VarianceShares(Kind):
    """Analysis of variance of losses with each value of an axis: one panel per data set.

    Printed means with their standard deviations over seeds have their own panels.

    Attributes:
        axis: the other factor, an axis of the variants (`sampler`). Other parts of a variant belong
            to the loss.
        metrics: the groups of columns.
        values: the values of the axis to use; all if not given.
        printed: the printed numbers at their places, if any are shown.
    """

    axis: str
    metrics: Sequence[Metric]
    values: Sequence[str] | None = None
    printed: Printed | None = None

    def __call__(self, scores: pd.DataFrame) -> Table:
        ours = self._factors(select(scores, selection=self.selection))
        unit = _repeated(ours)
        repeats = ours[unit].nunique()
        intervals = repeats > 2
        columns = [
            column
            for column in self.shown(*self.metrics)
            if intervals or not column.name.endswith(("_low", "_high"))
        ]
        ending = self.said("once") if repeats < 2 else "."
        if intervals:
            ending = self.said("interval", about=ABOUT[unit])
        caption = self.said(repeats=counted(repeats, unit), ending=ending)
        return self.listed("Source", columns, self._records(ours), caption)

    def _factors(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with the values to use, with the columns `loss` and `other`."""
        without = [_variants.without(variant, (self.axis,)) for variant in frame.variant]
        frame = frame.assign(
            loss=list(zip(frame.method, without, strict=True)),
            other=_variants.values_of(frame, self.axis),
        )
        return frame if self.values is None else frame[frame["other"].isin(self.values)]

    def _records(self, ours: pd.DataFrame) -> Iterator[dict]:
        """The rows of each panel: ours, then printed."""
        alone = self.printed is None and ours.dataset.nunique() == 1
        for dataset, scores in ours.groupby("dataset", sort=False):
            heading = "" if alone else self.name(dataset)
            yield from self._panel(heading, scores, variance_shares)
        if self.printed is None:
            return
        printed = self._factors(self.printed[self.printed.dataset.isin(ours.dataset)])
        printed = printed.assign(value=printed.number, std=printed.printed_std)
        for dataset, numbers in printed.groupby("dataset", sort=False):
            yield from self._panel(f"{self.name(dataset)}, printed", numbers, _of_print)

    def _panel(
        self, panel: str, rows: pd.DataFrame, shares: Callable[..., dict[str, Source]]
    ) -> Iterator[dict]:
        """A row for each source, with its results by metric."""
        found = {
            metric: shares(rows[rows.metric == metric], "loss", "other") for metric in self.metrics
        }
        other = self.name(self.axis)
        labels = {
            FIRST: f"loss ({rows.loss.nunique()})",
            SECOND: f"{other} ({rows.other.nunique()})",
            TOGETHER: f"loss and {other} together",
            REST: _repeated(rows),
        }
        for source in found[self.metrics[0]]:
            record = {"label": labels[source], "panel": panel}
            for metric, sources in found.items():
                one = sources[source]
                percents = (100 * each for each in (one.share, one.low, one.high))
                record |= bounded(metric, *percents, ending="_share")
                record |= {f"{metric}_std": one.deviation, f"{metric}_p": one.p_value}
            yield record


def _of_print(numbers: pd.DataFrame, first: str, second: str) -> dict[str, Source]:
    return shares_of_summaries(numbers, first, second, int(numbers.runs.iloc[0]))


def _repeated(rows: pd.DataFrame) -> str:
    """What is repeated: splits of the classes where there are several; in print it is seeds."""
    return SPLIT if "split" in rows and rows["split"].nunique() > 1 else SEED

"""Shares of the scores' variance that are due to the loss and to an axis of the variants."""

from collections.abc import Iterator, Sequence
from itertools import chain

import pandas as pd

from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Table, TableRow, known
from dmlbench.statistics.other_classes import ABOUT, SEED, SPLIT
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
        rows = [
            _row(label, sources, panel, intervals)
            for panel, analyzed, factors in self._panels(ours)
            for label, sources in self._labeled(analyzed, factors)
        ]
        columns = [
            column
            for column in chain.from_iterable(map(self.shown, self.metrics))
            if intervals or not column.name.endswith(("_low", "_high"))
        ]
        ending = self.said("once") if repeats < 2 else "."
        if intervals:
            ending = self.said("interval", about=ABOUT[unit])
        caption = self.said(repeats=counted(repeats, unit), ending=ending)
        return self.table("Source", columns, rows, caption)

    def _factors(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows with the values to use, with the columns `loss` and `other`."""
        without = [_variants.without(variant, (self.axis,)) for variant in frame.variant]
        frame = frame.assign(
            loss=list(zip(frame.method, without, strict=True)),
            other=_variants.values_of(frame, self.axis),
        )
        return frame if self.values is None else frame[frame["other"].isin(self.values)]

    def _panels(
        self, ours: pd.DataFrame
    ) -> Iterator[tuple[str, list[dict[str, Source]], pd.DataFrame]]:
        """Each panel's heading, the result of each metric, and its rows: ours, then printed."""
        alone = self.printed is None and ours.dataset.nunique() == 1
        for dataset, scores in ours.groupby("dataset", sort=False):
            by_metric = [scores[scores.metric == metric] for metric in self.metrics]
            heading = "" if alone else self.name(dataset)
            yield heading, [variance_shares(some, "loss", "other") for some in by_metric], scores
        if self.printed is None:
            return
        printed = self._factors(self.printed[self.printed.dataset.isin(ours.dataset)])
        printed = printed.assign(value=printed.number, std=printed.printed_std)
        for dataset, numbers in printed.groupby("dataset", sort=False):
            by_metric = [numbers[numbers.metric == metric] for metric in self.metrics]
            yield (
                f"{self.name(dataset)}, printed",
                [
                    shares_of_summaries(some, "loss", "other", int(some.runs.iloc[0]))
                    for some in by_metric
                ],
                numbers,
            )

    def _labeled(
        self, analyzed: list[dict[str, Source]], rows: pd.DataFrame
    ) -> Iterator[tuple[str, list[Source]]]:
        """Display name of each source, and its results by metric."""
        other = self.name(self.axis)
        labels = {
            FIRST: f"loss ({rows.loss.nunique()})",
            SECOND: f"{other} ({rows.other.nunique()})",
            TOGETHER: f"loss and {other} together",
            REST: _repeated(rows),
        }
        for source in analyzed[0]:
            yield labels[source], [sources[source] for sources in analyzed]


def _repeated(rows: pd.DataFrame) -> str:
    """What is repeated: splits of the classes where there are several; in print it is seeds."""
    return SPLIT if "split" in rows and rows["split"].nunique() > 1 else SEED


def _row(label: str, sources: Sequence[Source], panel: str, intervals: bool) -> TableRow:
    cells = []
    for source in sources:
        percents = (source.share, source.low, source.high) if intervals else (source.share,)
        values = [*(100 * share for share in percents), source.deviation, source.p_value]
        cells += map(known, values)
    return TableRow(label, tuple(cells), panel=panel)

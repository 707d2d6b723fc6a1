"""The effect of a variant or a method: differences between trainings of equal seeds."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Table, TableRow, known
from dmlbench.statistics.equivalence import UNPAIRED, pairing_gains
from dmlbench.statistics.paired import ALL_METHODS, paired_differences
from dmlbench.statistics.summary import of_rule
from dmlbench.values import Metric

NEEDS = "pairs"

_BASE = "base"
_TEST = (
    "Differences are between trainings of one seed, which begin with the same weights. p (signs): "
    "sign test. p (Holm): p, corrected for the number of rows of single losses."
)
_RATIO = "in parentheses: variance of the differences over the sum of both variances"
_CHOSEN = {
    True: f"Interval (95 %) and p by Student's t over pairs of one seed ({_RATIO}):",
    False: "Interval (95 %) and p by Welch's t of two samples, because pairing gains nothing if "
    f"the ratio of variances is {UNPAIRED[0]} to {UNPAIRED[1]} ({_RATIO}):",
}
_ONE_PAIR = "One pair of trainings: the interval of the difference is unknown."
_MEANS = (
    Column("reference", "reference", "Mean"),
    Column("value", "changed", "Mean"),
    Column("difference", "mean", "Difference", signed=True),
)
_INTERVAL = (
    Column("low", "from", "In 95 %", signed=True),
    Column("high", "to", "In 95 %", signed=True),
    Column("p", "p", decimals=3),
    Column("sign", "p (signs)", decimals=3),
    Column("holm", "p (Holm)", decimals=3),
)


class PairedDifferences(Kind):
    """One row per method and variant: how much it scores above its reference.

    Attributes:
        metrics: one panel each.
        role: whose images are scored.
        between: the column in which a score and its reference differ.
        against: the common reference: a variant (`base` for none), or a method.
        change: instead of `against`, the parts of a variant that are the change:
            `[regularizer, p_switch]` for `miner=D,regularizer=rho,p_switch=0.1`, whose reference
            is `miner=D`.
    """

    metrics: Sequence[Metric]
    role: Literal["train", "validation", "test"] = "test"
    between: Literal["method", "variant"] = "variant"
    against: str = "base"
    change: Sequence[str] | None = None

    def __post_init__(self):
        if self.change and (self.between == "method" or self.against != _BASE):
            raise UserError(f"table {self.id}: change is of variants, and allows no against")

    @property
    def _reference(self) -> str:
        return "" if self.against == _BASE else self.against

    def __call__(self, scores: pd.DataFrame) -> Table:
        kept = of_rule(scores, self.selection, self.role)
        if self.methods:
            kept = kept[kept.method.isin(self.methods)]
        kept = kept.assign(selection=self.selection)
        for metric in self.metrics:
            if not (kept.metric == metric).any():
                raise UserError(f"no {self.role} scores of {metric} at {self.selection}")
        kept = kept[kept.metric.isin(self.metrics)]
        frame = paired_differences(kept, self._references(kept), between=self.between)
        tested = bool(frame.low.notna().any())
        return self.table(
            "Loss",
            _MEANS + (_INTERVAL if tested else ()),
            self._rows(frame, tested),
            caption=self._caption(frame),
            notes=(_TEST, *self._tests(frame)) if tested else (_ONE_PAIR,),
        )

    def _references(self, scores: pd.DataFrame) -> dict[str, str]:
        values = scores[self.between].unique()
        if self.change:
            references = {value: _variants.without(value, self.change) for value in values}
        else:
            references = dict.fromkeys(values, self._reference)
        return {value: reference for value, reference in references.items() if value != reference}

    def _rows(self, frame: pd.DataFrame, tested: bool) -> list[TableRow]:
        rank = {method: place for place, method in enumerate([*self.methods, ALL_METHODS])}
        ordered = frame.sort_values("method", key=lambda method: method.map(rank), kind="stable")
        rows = []
        for metric in self.metrics:
            shown = ordered[ordered.metric == metric]
            for dataset, differences in shown.groupby("dataset", sort=False):
                panel = self._panel(metric, dataset, frame)
                for row in differences.itertuples():
                    label = self._label(row.method, row.variant)
                    cells = _cells(row, tested)
                    rows.append(
                        TableRow(label, cells, panel=panel, baseline=row.method == ALL_METHODS)
                    )
        return rows

    def _panel(self, metric, dataset, frame: pd.DataFrame) -> str:
        parts = [self.name(dataset)] if frame.dataset.nunique() > 1 else []
        return ", ".join(parts + ([self.name(metric)] if len(self.metrics) > 1 else []))

    def _label(self, method: str, variant: str) -> str:
        of = "All losses" if method == ALL_METHODS else self.name(method)
        if self.between == "method":
            return of
        return ", ".join([of, _variants.label(self.titles, variant) or "alone"])

    def _tests(self, frame: pd.DataFrame) -> list[str]:
        """Which test each part of the table has, and why."""
        chosen: dict[bool, list[str]] = {True: [], False: []}
        mean = frame.method == ALL_METHODS
        for place, rows in frame.assign(mean=mean).groupby(
            ["metric", "dataset", "mean"], sort=False
        ):
            metric, dataset, of_means = place
            parts = [
                self.name(metric),
                *([self.name(dataset)] if frame.dataset.nunique() > 1 else []),
            ]
            ratio = rows.ratio.iloc[0]
            shown = "unknown" if pd.isna(ratio) else f"{ratio:.2f}"
            part = " of ".join([", ".join(parts), *(["all losses"] if of_means else [])])
            chosen[pairing_gains(ratio)].append(f"{part} ({shown})")
        return [
            f"{_CHOSEN[paired]} {'; '.join(parts)}." for paired, parts in chosen.items() if parts
        ]

    def _caption(self, frame: pd.DataFrame) -> str:
        against = _variants.label(self.titles, self._reference) or "the loss alone"
        if self.change:
            against = "the same without the change"
        if self.between == "method":
            against = self.name(self.against)
        shown = ", ".join(self.name(metric) for metric in self.metrics)
        images = {"test": "test", "train": "training", "validation": "validation"}[self.role]
        most = frame.pairs.max()
        all_losses = (frame.method == ALL_METHODS).any()
        together = " All losses: mean over losses, seed by seed." if all_losses else ""
        return (
            f"{shown} of the {images} images less that of {against}, mean over {most} "
            f"{'pair' if most == 1 else 'pairs'} of trainings. {self.selected}{together}"
        )


def _cells(row, tested: bool) -> tuple[Cell, ...]:
    values = [row.reference, row.value, row.difference]
    values += [row.low, row.high, row.p_value, row.sign, row.holm] if tested else []
    return tuple(map(known, values))

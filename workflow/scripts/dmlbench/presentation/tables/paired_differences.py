"""The effect of a variant or a method: differences between trainings that are alike otherwise."""

import os
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Literal

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table
from dmlbench.statistics.classes import of_splits
from dmlbench.statistics.equivalence import UNPAIRED, pairing_gains
from dmlbench.statistics.other_classes import SEED
from dmlbench.statistics.paired import ALL_METHODS, paired_differences
from dmlbench.statistics.summary import of_rule
from dmlbench.values import Fact, Metric
from dmlbench.words import counted

_BASE = "base"
_MEANS = ("reference", "value", "difference")
_IMAGES = {"test": "test", "train": "training", "validation": "validation"}


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
        queries: for each row the file of its run's queries; with several splits of the classes
            they give the scores of each class.
    """

    QUERIES_OF_SPLITS = True
    """Queries are read only where there are several splits of the classes."""

    metrics: Sequence[Metric]
    role: Literal["train", "validation", "test"] = "test"
    between: Literal["method", "variant"] = "variant"
    against: str = "base"
    change: Sequence[str] | None = None
    queries: Fact[Sequence[str | os.PathLike]] = ()

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
        frame = paired_differences(
            kept,
            self._references(kept),
            between=self.between,
            classes=self._classes(),
            rows=self.rows,
        )
        columns = self._known(frame)
        several = len(columns) > len(_MEANS)
        notes = self._tests(frame) if several else [self.said("one_pair")]
        return self.listed("Loss", columns, self._records(frame), self._caption(frame), notes)

    def _classes(self) -> pd.DataFrame | None:
        """The scores of each test class; None where they are unknown."""
        classes = of_splits(self.rows, self.queries) if self.role == "test" else None
        if classes is not None:
            classes = classes[classes["selection"].isin([self.selection, "none"])]
        return classes

    def _known(self, frame: pd.DataFrame) -> list[Column]:
        """The columns of means, and of the interval if there is one; splits have no sign test."""
        if frame.low.isna().all():
            return [column for column in self.shown() if column.name in _MEANS]
        signs = (frame.unit == SEED).any()
        return [column for column in self.shown() if signs or column.name != "sign"]

    def _references(self, scores: pd.DataFrame) -> dict[str, str]:
        values = scores[self.between].unique()
        if self.change:
            references = {value: _variants.without(value, self.change) for value in values}
        else:
            references = dict.fromkeys(values, self._reference)
        return {value: reference for value, reference in references.items() if value != reference}

    def _records(self, frame: pd.DataFrame) -> Iterator[dict]:
        rank = {method: place for place, method in enumerate([*self.methods, ALL_METHODS])}
        ordered = frame.sort_values("method", key=lambda method: method.map(rank), kind="stable")
        several = frame.dataset.nunique() > 1, len(self.metrics) > 1
        for metric in self.metrics:
            of_metric = ordered[ordered.metric == metric]
            for dataset, differences in of_metric.groupby("dataset", sort=False):
                panel = ", ".join(map(self.name, compress((dataset, metric), several)))
                for row in differences.to_dict("records"):
                    yield row | {
                        "label": self._label(row["method"], row["variant"]),
                        "panel": panel,
                        "baseline": row["method"] == ALL_METHODS,
                        "p": row["p_value"],
                    }

    def _label(self, method: str, variant: str) -> str:
        of = "All losses" if method == ALL_METHODS else self.name(method)
        if self.between == "method":
            return of
        return ", ".join([of, _variants.label(self.titles, variant) or "alone"])

    def _tests(self, frame: pd.DataFrame) -> list[str]:
        """What intervals are about, and which test each part of the table has, and why."""
        over_splits = frame[frame.unit != SEED]
        if len(over_splits):
            units, splits = dict.fromkeys(over_splits.unit), frame.pairs.max()
            return [*(self.said(unit, splits=splits) for unit in units), self.said("holm")]
        chosen: dict[bool, list[str]] = {True: [], False: []}
        mean = frame.method == ALL_METHODS
        for place, rows in frame.assign(mean=mean).groupby(
            ["metric", "dataset", "mean"], sort=False
        ):
            metric, dataset, of_means = place
            several = frame.dataset.nunique() > 1
            part = ", ".join(map(self.name, (metric, dataset) if several else (metric,)))
            ratio = rows.ratio.iloc[0]
            shown = "unknown" if pd.isna(ratio) else f"{ratio:.2f}"
            of = " of all losses" if of_means else ""
            chosen[pairing_gains(ratio)].append(f"{part}{of} ({shown})")
        tests = {True: "paired", False: "unpaired"}
        return [self.said(SEED)] + [
            self.said(tests[paired], parts="; ".join(parts), unpaired=UNPAIRED)
            for paired, parts in chosen.items()
            if parts
        ]

    def _caption(self, frame: pd.DataFrame) -> str:
        against = _variants.label(self.titles, self._reference) or "the loss alone"
        if self.change:
            against = "the same without the change"
        if self.between == "method":
            against = self.name(self.against)
        over_splits = bool((frame.unit != SEED).any())
        repeated = counted(frame.pairs.max(), "split" if over_splits else "pair")
        caption = self.said(
            shown=", ".join(map(self.name, self.metrics)),
            images=_IMAGES[self.role],
            against=against,
            repeats=f"{repeated} of {'the classes' if over_splits else 'trainings'}",
        )
        if not (frame.method == ALL_METHODS).any():
            return caption
        by = "split by split" if over_splits else "seed by seed"
        return caption + self.said("together", by=by)

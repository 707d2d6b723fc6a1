"""Gains of training over a reference, next to the printed gains."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent, name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.statistics.summary import half_width, select, summarize
from dmlbench.values import Metric, Printed

NEEDS = "has_reference"


class GainsBesidePrinted(Kind):
    """Scores minus those of one method, seed by seed, next to the printed difference.

    Attributes:
        metrics: the groups of columns.
        over: the method that is subtracted; it has no variant.
        printed: the printed numbers at their places.
        role: whose images are scored: train, validation or test.
    """

    metrics: Sequence[Metric]
    over: str
    printed: Printed
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of a study's scores.

        Raises:
            UserError: the method to subtract has no scores.
        """
        shown = select(scores, selection=self.selection, role=self.role, metrics=self.metrics)
        if self.over not in set(shown.method):
            raise unknown("method to subtract", self.over, sorted(set(shown.method)))
        ours = _less(shown, self.over, "value", ["seed", "metric"])
        keys = [*_LABEL, "metric"]
        found = summarize(ours.assign(value=ours["gain"]), keys).set_index(keys)
        numbers = self.printed[(self.printed.why == "") & (self.printed.role == self.role)]
        theirs = _less(numbers, self.over, "number", ["metric"])
        printed = theirs.set_index([*_LABEL, "metric"])["gain"]
        rows = tuple(
            Row(
                ", ".join(filter(None, [self.name(method), _variants.label(self.titles, variant)])),
                tuple(
                    cell
                    for metric in self.metrics
                    for cell in _cells(found, printed, (method, variant, metric))
                ),
            )
            for method, variant in dict.fromkeys(zip(theirs.method, theirs.variant, strict=True))
        )
        columns = tuple(
            column for metric in self.metrics for column in _columns(metric, self.titles)
        )
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = (
            f"{unit.removeprefix(' in ').capitalize() or 'How much'} more than "
            f"{self.name(self.over)}, of the same draw. {selected(self.selection)} "
            f"Mean ± standard deviation over {found.seeds.max()} seeds."
        )
        return Table(self.id, self.title, caption, "Loss", columns, rows, (_INTERVAL,))


_LABEL = ["method", "variant"]
_INTERVAL = (
    "In 95 %: whether the printed gain lies where 95 % of gains of one draw fall that come from "
    "the distribution of ours (prediction interval of Student's t)."
)


def _less(frame: pd.DataFrame, over: str, value: str, shared: list[str]) -> pd.DataFrame:
    """The frame's other rows with their `gain` over those of one method with the same columns."""
    reference = frame.loc[(frame.method == over) & (frame.variant == ""), [*shared, value]]
    others = frame[frame.method != over]
    pairs = others.merge(reference, on=shared, suffixes=("", "_over"))
    return pairs.assign(gain=pairs[value] - pairs[f"{value}_over"])


def _columns(metric: str, titles: Mapping[str, str]) -> list[Column]:
    group = name(titles, metric)
    return [
        Column(metric, "ours", group, better="", signed=True),
        Column(f"{metric}_printed", "printed", group, better="", signed=True),
        Column(f"{metric}_inside", "in 95 %", group, better=""),
    ]


def _cells(found: pd.DataFrame, printed: pd.Series, key: tuple[str, str, str]) -> list[Cell]:
    theirs = printed.get(key)
    if key not in found.index:
        return [Cell("not run"), Cell(theirs), Cell(None)]
    ours = found.loc[key]
    if ours.seeds < 2 or theirs is None:
        return [Cell(ours["mean"]), Cell(theirs), Cell(None)]
    half = half_width(ours["std"], ours.seeds, further=1)
    inside = "yes" if abs(ours["mean"] - theirs) <= half else "no"
    return [Cell(ours["mean"], ours["std"]), Cell(theirs), Cell(inside)]

"""Gains of training over a reference, next to the printed gains."""

from collections.abc import Sequence
from itertools import chain
from typing import Literal

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation import _next_to_printed
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.statistics.summary import half_width, select, summarize
from dmlbench.values import Metric, Printed

NEEDS = "has_reference"
_KEY = ["method", "variant", "metric"]
_INTERVAL = (
    "In 95 %: whether the printed gain lies where 95 % of gains of one draw fall that come from "
    "the distribution of ours (prediction interval of Student's t)."
)


class GainsNextToPrinted(Kind):
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
        shown = select(scores, selection=self.selection, role=self.role, metrics=self.metrics)
        if self.over not in set(shown.method):
            raise unknown("method to subtract", self.over, sorted(set(shown.method)))
        gains = summarize(_less(shown, self.over, ["seed", "metric"]), _KEY).set_index(_KEY)
        numbers = placed_values(self.printed)
        theirs = _less(numbers[numbers.role == self.role], self.over, ["metric"])
        printed = theirs.set_index(_KEY)["value"]
        rows = [
            TableRow(
                self.labeled(*key),
                tuple(
                    chain.from_iterable(
                        _cells(gains, printed, (*key, metric)) for metric in self.metrics
                    )
                ),
            )
            for key in _next_to_printed.lines(theirs)
        ]
        unit = in_percent(self.titles, self.metrics, "percentage points")
        caption = (
            f"{unit.removeprefix(' in ').capitalize() or 'How much'} more than "
            f"{self.name(self.over)}, of the same draw. {self.selected} "
            f"Mean ± standard deviation over {gains.seeds.max()} seeds."
        )
        columns = chain.from_iterable(map(self._columns, self.metrics))
        return self.table("Loss", columns, rows, caption, [_INTERVAL])

    def _columns(self, metric: str) -> list[Column]:
        group = self.name(metric)
        return [
            Column(metric, "ours", group, signed=True),
            Column(f"{metric}_printed", "printed", group, signed=True),
            Column(f"{metric}_inside", "in 95 %", group),
        ]


def _less(frame: pd.DataFrame, over: str, shared: list[str]) -> pd.DataFrame:
    """The other methods' rows, their values less those of one method with the same columns."""
    reference = frame.loc[(frame.method == over) & (frame.variant == ""), [*shared, "value"]]
    pairs = frame[frame.method != over].merge(reference, on=shared, suffixes=("", "_over"))
    return pairs.assign(value=pairs["value"] - pairs["value_over"])


def _cells(gains: pd.DataFrame, printed: pd.Series, key: tuple[str, str, str]) -> list[Cell]:
    theirs = printed.get(key)
    if key not in gains.index:
        return [Cell("not run"), Cell(theirs), Cell(None)]
    ours = gains.loc[key]
    if ours.seeds < 2 or theirs is None:
        return [Cell(ours["mean"]), Cell(theirs), Cell(None)]
    half = half_width(ours["std"], ours.seeds, further=1)
    inside = "yes" if abs(ours["mean"] - theirs) <= half else "no"
    return [Cell(ours["mean"], ours["std"]), Cell(theirs), Cell(inside)]

"""Results of experiments next to what is printed."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation import _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table
from dmlbench.statistics.summary import in_units, summarize
from dmlbench.values import TripletLoss


class Constants(Kind):
    """One row per number: its label, the printed and the computed value.

    Attributes:
        numbers: from top to bottom: `label`; `metric` of the long table; `printed`, as the
            document prints it, if it does.
        decimals: of the computed numbers.
    """

    numbers: Sequence[Mapping[Literal["label", "metric", "printed"], str]]
    decimals: int = 4

    def __call__(self, scores: pd.DataFrame) -> Table:
        means = summarize(in_units(scores), ["metric"]).set_index("metric")["mean"]
        for row in self.numbers:
            if row["metric"] not in means:
                raise unknown("metric of the experiment", row["metric"], means.index)
        columns = (
            Column("printed", "printed"),
            Column("computed", "computed", decimals=self.decimals),
        )
        records = [{**row, "computed": means[row["metric"]]} for row in self.numbers]
        return self.listed("Number", columns, records)


class PrintedDerivatives(Kind):
    """One row per loss and point of a triplet, from the results of `triplet_forces`.

    Attributes:
        losses: rows, in order.
    """

    losses: Sequence[TripletLoss]

    def __call__(self, scores: pd.DataFrame) -> Table:
        first = scores[scores.seed == scores.seed.min()]
        first = first.assign(point=_variants.values_of(first, "point"))
        derivatives = first.set_index(["method", "point", "metric"]).value.sort_index()
        for loss in self.losses:
            if loss not in set(first.method):
                raise unknown("loss with printed derivatives", loss, sorted(set(first.method)))
        records = [
            {"label": f"{self.name(loss)}, {point}"} | _told(derivatives[loss, point])
            for loss in self.losses
            for point in ("anchor", "positive", "negative")
        ]
        wrong = sum(record["printed_is_right"] == "wrong" for record in records)
        caption, columns = self.said(wrong=wrong, all=len(records)), self.shown()
        return self.listed("Loss, point", columns, records, caption)


def _told(derivative: pd.Series) -> dict[str, str | float]:
    right = derivative["printed_is_right"] == 1
    return {
        "printed_is_right": "right" if right else "wrong",
        "largest_difference": None if right else derivative["largest_difference"],
        "printed_at_example": _vector(derivative["printed_x"], derivative["printed_y"]),
        "autograd_at_example": _vector(derivative["autograd_x"], derivative["autograd_y"]),
    }


def _vector(x: float, y: float) -> str:
    return f"({x + 0.0:.4f}, {y + 0.0:.4f})"

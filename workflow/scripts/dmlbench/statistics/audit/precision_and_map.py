"""On one data set MAP@R follows R-precision closely: rows off the line are misprinted."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dmlbench.statistics.audit.check import LIKELY, ROW, Check, check_of
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.logits import expected, logit

TITLE = "MAP@R follows R-precision as in the other rows of its data set"
KIND = "off the line"

_ENOUGH_ROWS = 8
_POINTS = 3.0


def check(document: Document) -> Iterator[Check]:
    """One check per row that prints both, against a robust line through the logits."""
    cells = document.cells.set_index(ROW)
    maps = cells[cells["metric"] == "map_at_r"]
    precisions = cells[cells["metric"] == "r_precision"]["number"].rename("precision")
    rows = maps.join(precisions, how="inner").reset_index()
    for _, group in rows.groupby("dataset", sort=False):
        if len(group) >= _ENOUGH_ROWS:
            yield from _line(group.reset_index(drop=True))


def _line(rows: pd.DataFrame) -> Iterator[Check]:
    numbers = rows["number"].to_numpy()
    fit = _theil_sen(logit(rows["precision"].to_numpy()), logit(numbers))
    percent, are_off = expected(numbers, fit, points=_POINTS)
    for place, row in rows.iterrows():
        one = check_of(row, f"{percent[place]:.1f}")
        if are_off[place]:
            one = one.found(
                KIND,
                LIKELY,
                f"With an R-precision of {row['precision']:g} the other rows lead one to expect "
                f"{percent[place]:.1f}; assumes that they tell what this data set gives.",
            )
        yield one


def _theil_sen(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The line with the median of all pairs' slopes, through the median of the rest."""
    first, second = np.triu_indices(len(x), 1)
    apart = x[first] != x[second]
    slopes = (y[first] - y[second])[apart] / (x[first] - x[second])[apart]
    slope = np.median(slopes) if len(slopes) else 0.0
    return np.median(y - slope * x) + slope * x

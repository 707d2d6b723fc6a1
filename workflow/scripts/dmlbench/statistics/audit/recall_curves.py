"""R@4 lies between R@2 and R@8 of its row where the other rows of its data set have it."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dmlbench.statistics.audit.check import NOTE, ROW, Check, check_of
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.logits import expected, logit

TITLE = "R@4 lies between R@2 and R@8 as in the other rows of its data set"
KIND = "unusual curve"

_ENOUGH_ROWS = 30
_POINTS = 0.5


def check(document: Document) -> Iterator[Check]:
    """One check per series of R@2, R@4 and R@8 that does not fall, against the median in logits."""
    recalls = document.cells[document.cells["k"].isin([2, 4, 8])]
    if recalls["k"].nunique() < 3:
        return
    series = recalls.pivot(index=ROW, columns="k", values=["number", "value"]).dropna()
    numbers = series["number"].astype(float)
    rising = (numbers[2] <= numbers[4]) & (numbers[4] <= numbers[8])
    for _, rows in series[rising].groupby("dataset", sort=False):
        if len(rows) >= _ENOUGH_ROWS:
            yield from _curves(rows)


def _curves(rows: pd.DataFrame) -> Iterator[Check]:
    second, fourth, eighth = rows["number"].astype(float)[[2, 4, 8]].to_numpy().T
    middle = (logit(second) + logit(eighth)) / 2
    usual = np.median(logit(fourth) - middle)
    percent, are_off = expected(fourth, middle + usual, points=_POINTS)
    # What repeated tables print twice is one series.
    repeats = rows["value"].reset_index().duplicated(_SERIES).to_numpy()
    for place, (row, values) in enumerate(rows["value"].iterrows()):
        coordinates = dict(zip(ROW, row, strict=True))
        one = check_of(pd.Series(coordinates | {"metric": "R@2/4/8", "value": "/".join(values)}))
        one = one._replace(recomputed=f"R@4 about {percent[place]:.1f}")
        if are_off[place] and not repeats[place]:
            one = one.found(
                KIND,
                NOTE,
                f"Not impossible, but between its R@2 and R@8 the other {len(rows) - 1} rows have "
                f"an R@4 of about {percent[place]:.1f}: one of the three may be misprinted.",
            )
        yield one


_SERIES = ["dataset", "method", "variant", 2.0, 4.0, 8.0]

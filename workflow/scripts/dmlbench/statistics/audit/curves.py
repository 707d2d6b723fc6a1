"""Metrics of one row against each other: what must not fall, and what other rows lead to expect."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dmlbench.statistics.audit.check import CERTAIN, LIKELY, NOTE, ROW, Check, check_of, rule
from dmlbench.statistics.audit.document import Document

_DEVIATIONS = 6.0


@rule("R@k does not fall with k", kind="recall falls")
def falling_recall(document: Document) -> Iterator[Check]:
    """One check per printed series of two or more recalls; k neighbors include the k - 1 nearer."""
    recalls = document.cells.dropna(subset=["k"])
    for _, series in recalls.groupby(ROW, sort=False):
        if len(series) < 2:
            continue
        series = series.sort_values("k")
        ks = [f"{k:.0f}" for k in series["k"]]
        whole = check_of(series.iloc[0])._replace(
            metric="R@" + "/".join(ks), printed="/".join(series["value"])
        )
        falls = [place for place, step in enumerate(series["number"].diff()) if step < 0]
        if falls:
            k, below = ks[falls[0]], ks[falls[0] - 1]
            whole = whole.found(
                CERTAIN, f"R@{k} is lower than R@{below}; one of the two is misprinted."
            )._replace(recomputed=f"R@{k} >= {series['value'].iloc[falls[0] - 1]}")
        yield whole


_ENOUGH_FOR_A_LINE = 8
_POINTS_OFF_THE_LINE = 3.0


@rule("MAP@R follows R-precision as in the other rows of its data set", kind="off the line")
def precision_and_map(document: Document) -> Iterator[Check]:
    """One check per row that prints both, against a robust line through the logits."""
    cells = document.cells.set_index(ROW)
    maps = cells[cells["metric"] == "map_at_r"]
    precisions = cells[cells["metric"] == "r_precision"]["number"].rename("precision")
    rows = maps.join(precisions, how="inner").reset_index()
    for _, group in rows.groupby("dataset", sort=False):
        if len(group) >= _ENOUGH_FOR_A_LINE:
            yield from _line(group.reset_index(drop=True))


def _line(rows: pd.DataFrame) -> Iterator[Check]:
    numbers = rows["number"].to_numpy()
    fit = _theil_sen(_logit(rows["precision"].to_numpy()), _logit(numbers))
    percent, are_off = _expected(numbers, fit, points=_POINTS_OFF_THE_LINE)
    for place, row in rows.iterrows():
        one = check_of(row, f"{percent[place]:.1f}")
        if are_off[place]:
            one = one.found(
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


_ENOUGH_CURVES = 30
_POINTS_OFF_THE_CURVE = 0.5


@rule("R@4 lies between R@2 and R@8 as in the other rows of its data set", kind="unusual curve")
def recall_curves(document: Document) -> Iterator[Check]:
    """One check per series of R@2, R@4 and R@8 that does not fall, against the median in logits."""
    recalls = document.cells[document.cells["k"].isin([2, 4, 8])]
    if recalls["k"].nunique() < 3:
        return
    series = recalls.pivot(index=ROW, columns="k", values=["number", "value"]).dropna()
    numbers = series["number"].astype(float)
    rising = (numbers[2] <= numbers[4]) & (numbers[4] <= numbers[8])
    for _, rows in series[rising].groupby("dataset", sort=False):
        if len(rows) >= _ENOUGH_CURVES:
            yield from _curves(rows)


def _curves(rows: pd.DataFrame) -> Iterator[Check]:
    second, fourth, eighth = rows["number"].astype(float)[[2, 4, 8]].to_numpy().T
    middle = (_logit(second) + _logit(eighth)) / 2
    usual = np.median(_logit(fourth) - middle)
    percent, are_off = _expected(fourth, middle + usual, points=_POINTS_OFF_THE_CURVE)
    # What repeated tables print twice is one series.
    repeats = rows["value"].reset_index().duplicated(_SERIES).to_numpy()
    for place, (row, values) in enumerate(rows["value"].iterrows()):
        coordinates = dict(zip(ROW, row, strict=True))
        one = check_of(pd.Series(coordinates | {"metric": "R@2/4/8", "value": "/".join(values)}))
        one = one._replace(recomputed=f"R@4 about {percent[place]:.1f}")
        if are_off[place] and not repeats[place]:
            one = one.found(
                NOTE,
                f"Not impossible, but between its R@2 and R@8 the other {len(rows) - 1} rows have "
                f"an R@4 of about {percent[place]:.1f}: one of the three may be misprinted.",
            )
        yield one


_SERIES = ["dataset", "method", "variant", 2.0, 4.0, 8.0]


def _expected(
    percent: np.ndarray, fit: np.ndarray, *, points: float
) -> tuple[np.ndarray, np.ndarray]:
    """What percentages [N] should be by a robust fit, and which of them are too far from it.

    Args:
        fit: the logit of each by the fit, [N].
        points: how far it may be from the fit in any case.
    """
    wanted, off = 100 / (1 + np.exp(-fit)), np.abs(_logit(percent) - fit)
    far = off > _DEVIATIONS * 1.4826 * np.median(off)
    return wanted, far & (np.abs(percent - wanted) > points)


def _logit(percent: np.ndarray) -> np.ndarray:
    """The logits of percentages."""
    share = np.clip(percent / 100, 1e-4, 1 - 1e-4)
    return np.log(share / (1 - share))

"""Correlation of two measurements of the same points, with a bootstrap interval."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit

from dmlbench.errors import UserError


class Correlation(NamedTuple):
    """Correlation of two measurements.

    Attributes:
        pearson: Pearson's coefficient.
        low, high: its 95 % bootstrap interval.
        spearman: the coefficient of the ranks.
        points: how many points there are.

    For a constant measurement, undefined values are NaN.
    """

    pearson: float
    low: float
    high: float
    spearman: float
    points: int


def correlate(x: Sequence[float], y: Sequence[float], *, resamples: int = 10_000) -> Correlation:
    """Correlate two measurements [N] of the same points.

    The bootstrap draws points with replacement, the same ones in every call; draws with a constant
    measurement have no correlation and are left out. The interval lies between percentiles further
    out than 2.5 and 97.5, as few points need: between these a correlation of 14 points that is 0 is
    missed in 9 % of all cases, between those in 6 %.

    Args:
        resamples: number of draws.

    Raises:
        UserError: fewer than three points, or x and y of different length.

    Source: T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69, 2015, section 5.3 (expanded percentile interval).
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or len(x) < 3:
        raise UserError(
            f"correlation of {len(x)} and {len(y)} numbers; allowed: equally many, 3 or more"
        )
    drawn = np.random.default_rng(0).integers(0, len(x), (resamples, len(x)))
    correlations = _pearson(x[drawn], y[drawn])
    correlations = correlations[np.isfinite(correlations)]
    low, high = expanded_interval(correlations, len(x))
    ranks = _pearson(*(pd.Series(values).rank().to_numpy() for values in (x, y)))
    return Correlation(float(_pearson(x, y)), float(low), float(high), float(ranks), len(x))


def expanded_interval(draws: np.ndarray, points: int) -> np.ndarray:
    """The expanded percentile interval, [2, ...], of bootstrap draws [D, ...] of so many points.

    NaN without draws.
    """
    if not len(draws):
        return np.full((2, *draws.shape[1:]), np.nan)
    tail = ndtr(-((points / (points - 1)) ** 0.5) * stdtrit(points - 1, 0.975))
    return np.quantile(draws, [tail, 1 - tail], axis=0)


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's coefficient along the last axis; NaN if x or y is constant."""
    x, y = centered(x), centered(y)
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    return np.divide((x * y).sum(axis=-1), scale, where=scale > 0, out=np.full(scale.shape, np.nan))


def centered(x: np.ndarray) -> np.ndarray:
    """x minus its mean along the last axis; rounding noise is set to 0."""
    off = x - x.mean(axis=-1, keepdims=True)
    return np.where(abs(off) > 1e-12 * abs(x).max(axis=-1, keepdims=True), off, 0.0)

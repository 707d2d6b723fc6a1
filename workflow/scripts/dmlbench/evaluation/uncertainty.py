"""Uncertainty of a score: bootstrap over queries or classes, t-intervals over repetitions.

docs/intervals.md says how often they hold the true mean, in simulations.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from dmlbench.errors import UserError
from dmlbench.evaluation.checks import as_array, check_values


class Interval(NamedTuple):
    """A mean and the interval around it, in the units of the values."""

    mean: float
    low: float
    high: float


def bootstrap(
    values, *, classes=None, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> Interval:
    """Interval of the mean of a retrieval metric over other queries, or over other classes.

    The percentile bootstrap, and where that is narrower Wilson's score interval for as many
    independent queries as the variance amounts to: near 0 or 1, and for few classes, the former
    holds the mean too rarely. Values outside of [0, 1] have the percentile bootstrap alone.

    Args:
        values: the metric of each query, [Q]: `Evaluation.per_query[name]`.
        classes: class of each query, [Q]. With it, classes are drawn with all their queries, which
            is right if another test set would have other classes; without it, queries are drawn one
            by one.
        resamples: number of draws.
        level: confidence, in (0, 1).
        seed: the same seed gives the same interval.

    Raises:
        UserError: no values, or an argument out of range.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927; C. Franco, R. Little, T. Louis and E.
    Slud, Comparative study of confidence intervals for proportions in complex sample surveys,
    Journal of Survey Statistics and Methodology 7, 2019 (effective number).
    """
    values = _checked(values, level)
    for name, number, least in (("resamples", resamples, 1), ("seed", seed, 0)):
        if not isinstance(number, Integral) or number < least:
            raise UserError(f"{name}={number!r}; allowed: a whole number from {least}")
    sums, counts = values, np.ones(len(values))
    if classes is not None:
        classes = check_values(classes, "classes", len(values))
        _, of_class = np.unique(classes, return_inverse=True)
        sums, counts = np.bincount(of_class, weights=values), np.bincount(of_class)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for number in range(resamples):
        drawn = generator.integers(0, len(sums), len(sums))
        means[number] = sums[drawn].sum() / counts[drawn].sum()
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    mean = float(values.mean())
    if values.min() >= 0 and values.max() <= 1:
        lower, upper = _wilson(mean, sums, counts, level)
        low, high = min(low, lower), max(high, upper)
    return Interval(mean, float(low), float(high))


def t_interval(values, *, level: float = 0.95) -> Interval:
    """Student's t-interval of the mean over repetitions, such as seeds or folds.

    It assumes that none of them fails altogether. If one in ten does, few repetitions often have
    none that failed, and the interval is that of a training that does not fail.

    Args:
        values: one score per repetition, [n]. With n = 1 the bounds are NaN.
        level: confidence, in (0, 1).

    Raises:
        UserError: no values, or a level out of range.
    """
    values = _checked(values, level)
    mean = float(values.mean())
    if len(values) == 1:
        return Interval(mean, float("nan"), float("nan"))
    half = student.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return Interval(mean, mean - float(half), mean + float(half))


def _wilson(mean: float, sums: np.ndarray, counts: np.ndarray, level: float) -> tuple:
    """Wilson's interval of a mean of values in [0, 1], from sums of independently drawn units."""
    units = len(sums)
    if units == 1:
        return 0.0, 1.0
    variance = (sums - mean * counts).var(ddof=1) / counts.mean() ** 2 / units
    effective = mean * (1 - mean) / variance if variance > 0 else units
    squared = student.ppf((1 + level) / 2, units - 1) ** 2 / effective
    center = (mean + squared / 2) / (1 + squared)
    half = (squared * (mean * (1 - mean) + squared / 4)) ** 0.5 / (1 + squared)
    return max(center - half, 0.0), min(center + half, 1.0)


def _checked(values, level: float) -> np.ndarray:
    try:
        values = as_array(values, "values").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"values: {error}; allowed: numbers") from error
    if values.ndim != 1 or len(values) == 0:
        raise UserError(f"values: shape {values.shape}; allowed: [n] with n > 0")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise UserError(f"level={level!r}; allowed: between 0 and 1")
    return values

"""Whether one order of methods predicts another: rank correlation, and pairs in the right order.

A method is in many pairs and in several tables, so pairs are not independent. Intervals are
therefore over methods, which are drawn again with all of their pairs, and are about other methods
like these, in the same tables.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from dmlbench.errors import UserError
from dmlbench.statistics.generalizability import Estimate
from scipy.special import ndtr

PAIR = ["table", "one", "other"]
_Z = 1.959964
"""The two-sided 95 % point of the standard normal distribution."""


def rank_correlation(first: pd.Series, second: pd.Series) -> Estimate:
    """Spearman's correlation of two measurements of the same methods, with Fisher's interval.

    Args:
        first, second: methods -> measurements, in any order of the methods.

    Returns:
        the coefficient in [-1, 1], the ends of its interval, and how many methods there are.

    Raises:
        UserError: other methods in one than in the other, or fewer than four.

    Source: E. C. Fieller, H. O. Hartley and E. S. Pearson, Tests for Rank Correlation Coefficients
    I, Biometrika 44, 1957 (variance 1.06 / (n - 3) of the transformed coefficient).
    """
    if set(first.index) != set(second.index) or len(first) < 4:
        raise UserError(
            f"correlation of {sorted(first.index)} and {sorted(second.index)}; allowed: the same "
            "methods, 4 or more"
        )
    value = float(first.rank().corr(second.reindex(first.index).rank()))
    low, high = _fisher(value, len(first))
    return Estimate(value, float(low), float(high), len(first))


def power(correlation: float, methods: int, *, draws: int = 100_000) -> float:
    """How often the interval of `rank_correlation` excludes zero.

    Args:
        correlation: that of normal measurements, in (-1, 1).
        methods: how many are measured.
        draws: of all methods, the same ones in every call.

    Returns:
        the share of draws with an interval above zero, or below.
    """
    normal = np.random.default_rng(0).standard_normal((2, draws, methods))
    first = normal[0]
    second = correlation * first + (1 - correlation**2) ** 0.5 * normal[1]
    one, other = (x.argsort(axis=1).argsort(axis=1) - (methods - 1) / 2 for x in (first, second))
    values = (one * other).sum(axis=1) / (one * one).sum(axis=1)
    low, high = _fisher(values, methods)
    return float(((low > 0) | (high < 0)).mean())


def judged_pairs(
    target: pd.Series, predictor: pd.Series, *, apart: float, table: str = ""
) -> pd.DataFrame:
    """Which pairs of methods a predictor orders as the target does.

    Args:
        target, predictor: methods -> measurements; methods that only one has are left out.
        apart: how far apart the target must have two methods, in its unit.
        table: the target's name.

    Returns:
        `PAIR` and `right`, 1 or 0, one row per pair that the predictor does not tie; `one` is the
        better of the two in the target.
    """
    methods = target.index.intersection(predictor.dropna().index)
    rows = []
    for pair in combinations(methods, 2):
        one, other = sorted(pair, key=target.get, reverse=True)
        if target[one] - target[other] > apart and predictor[one] != predictor[other]:
            rows.append((table, one, other, float(predictor[one] > predictor[other])))
    return pd.DataFrame(rows, columns=[*PAIR, "right"])


def mean_of_pairs(
    pairs: pd.DataFrame, column: str = "right", *, resamples: int = 10_000
) -> Estimate:
    """The mean of a column over pairs of all tables, with an interval over methods.

    The bootstrap draws methods with replacement, the same ones in every call; a pair counts as
    often as both of its methods together, in each table.

    Args:
        pairs: `PAIR` and the column, which may be a difference of two predictors.

    Returns:
        the mean, the ends of its percentile interval, and how many pairs there are.

    Raises:
        UserError: no pair.

    Source: T. A. B. Snijders and S. P. Borgatti, Non-Parametric Standard Errors and Tests for
    Network Statistics, Connections 22, 1999 (bootstrap of vertices, without pairs of one vertex).
    """
    if not len(pairs):
        raise UserError("no pair of methods to compare; allowed: one or more")
    methods, places = np.unique(pairs[["one", "other"]], return_inverse=True)
    one, other = places.reshape(-1, 2).T
    size = len(methods)
    drawn = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), resamples)
    weights = drawn[:, one] * drawn[:, other]
    values = pairs[column].to_numpy(float)
    totals = weights.sum(axis=1)
    means = (weights @ values)[totals > 0] / totals[totals > 0]
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(values.mean()), float(low), float(high), len(pairs))


def expected_right(target: pd.Series, errors: pd.Series, *, apart: float) -> pd.Series:
    """How likely each pair of a noisy target is in its true order.

    It is what a predictor reaches that knows the true measurements. Where nothing is known of
    these before, that is the chance that the difference has its sign; it is too high where true
    differences are small next to the errors.

    Args:
        target: methods -> measurements.
        errors: methods -> their standard errors, in the same unit, above 0.
        apart: how far apart the target must have two methods, as in `judged_pairs`.

    Returns:
        a probability per pair.
    """
    likely = [
        ndtr(abs(target[one] - target[other]) / np.hypot(errors[one], errors[other]))
        for one, other in combinations(target.index, 2)
        if abs(target[one] - target[other]) > apart
    ]
    return pd.Series(likely, dtype=float)


def _fisher(value, methods: int):
    with np.errstate(divide="ignore"):  # equal orders have the interval [1, 1]
        middle = np.arctanh(value)
    half = _Z * (1.06 / (methods - 3)) ** 0.5
    return np.tanh(middle - half), np.tanh(middle + half)

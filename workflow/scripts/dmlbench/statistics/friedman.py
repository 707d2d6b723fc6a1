"""Do the methods of a tournament differ at all, and which of them?

Source: Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006,
section 3.2.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import factorial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.errors import UserError

_MANY = 10
"""Number of experiments beyond which the statistic follows its limiting distribution."""

_ALL = 20_000
"""Number of arrangements of ranks up to which every one is looked at."""

_DRAWS, _AT_ONCE = 100_000, 10_000
"""Number of random arrangements where there are more, and how many are held in memory."""


class Friedman(NamedTuple):
    """Friedman's test that all methods rank alike.

    Attributes:
        chi_square: Friedman's statistic, corrected for ties.
        p_value: of this statistic. Up to ten experiments it is the share of arrangements of the
            ranks within experiments with the same statistic or a higher one (of all, or of 100,000
            random ones): there the chi-square distribution is far off. Of ten methods that rank at
            random in two experiments it rejects 0.06 % at the level of 5 %, and of six methods
            none. Beyond ten experiments: chi-square with k - 1 degrees of freedom.
    """

    chi_square: float
    p_value: float


def friedman(ranks: pd.DataFrame) -> Friedman:
    """Test whether methods differ in their ranks.

    Args:
        ranks: k methods x N experiments, 1 is best, ties share their average
            (`tournament.ranks`). Undefined numbers (a single experiment, or only ties) are missing
            in the result.

    Raises:
        UserError: fewer than two methods.
    """
    table = ranks.to_numpy(float)
    methods, experiments = table.shape
    _check(methods)
    middle = (methods + 1) / 2
    between = experiments * float(((table.mean(axis=1) - middle) ** 2).sum())
    within = float(((table - middle) ** 2).sum()) / (experiments * (methods - 1))
    if within == 0 or experiments < 2:
        return Friedman(float("nan"), float("nan"))
    chi_square = between / within
    if experiments > _MANY:
        return Friedman(chi_square, float(stats.chi2.sf(chi_square, methods - 1)))
    return Friedman(chi_square, _share_as_high(table, experiments * between))


def _share_as_high(table: np.ndarray, observed: float) -> float:
    """Share of arrangements of ranks [k, N] whose squared rank sums are as high as these.

    Args:
        observed: sum of the squares of the methods' rank sums less their mean.
    """
    # Sorted, so that equal numbers of methods, experiments and ties have equal draws.
    columns = np.sort(table - table.mean(axis=0), axis=0).T
    experiments, methods = columns.shape
    limit = observed * (1 - 1e-9)
    if factorial(methods) ** (experiments - 1) <= _ALL:
        orders = [list(order) for order in permutations(range(methods))]
        others = product(*[[column[order] for order in orders] for column in columns[1:]])
        sums = np.array([columns[0] + sum(other) for other in others])
        return float(((sums**2).sum(axis=1) >= limit).mean())
    generator = np.random.default_rng(0)
    shape = (_AT_ONCE, experiments, methods)
    high = 0
    for _ in range(_DRAWS // _AT_ONCE):
        drawn = generator.permuted(np.broadcast_to(columns, shape), axis=2)
        high += int(((drawn.sum(axis=1) ** 2).sum(axis=1) >= limit).sum())
    return (1 + high) / (1 + _DRAWS)


def critical_difference(methods: int, experiments: int, *, level: float = 0.95) -> float:
    """Nemenyi's critical difference of average ranks, q sqrt(k(k + 1) / 6N).

    Two of k methods whose average ranks over N experiments are at least this far apart differ;
    all pairs are tested jointly, with an error in a share 1 - level of all tournaments.

    Raises:
        UserError: fewer than two methods.
    """
    _check(methods)
    quantile = stats.studentized_range.ppf(level, methods, np.inf) / 2**0.5
    return float(quantile * (methods * (methods + 1) / (6 * experiments)) ** 0.5)


def apart_by_ranks(average_ranks: pd.Series, difference: float) -> dict[str, list[str]]:
    """Method -> those whose average rank is at least the critical difference away."""
    return {
        method: average_ranks.index[abs(average_ranks - rank) >= difference].tolist()
        for method, rank in average_ranks.items()
    }


def groups(average_ranks: pd.Series, apart: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The largest sets of neighbors in rank of which no two differ, the best first.

    Args:
        average_ranks: method -> average rank.
        apart: method -> the methods that it is shown to differ from.

    Returns:
        Sets of at least two methods, best method first; none is a subset of another.
    """
    ordered = list(average_ranks.sort_values(kind="stable").index)
    sets: list[list[str]] = []
    end = 0
    for start in range(len(ordered)):
        stop = start + 1
        while stop < len(ordered) and not set(apart[ordered[stop]]) & set(ordered[start:stop]):
            stop += 1
        if stop > max(end, start + 1):
            end = stop
            sets.append(ordered[start:stop])
    return sets


def _check(methods: int) -> None:
    if methods < 2:
        raise UserError(f"a comparison of {methods} methods; allowed: at least 2")

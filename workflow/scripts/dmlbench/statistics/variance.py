"""Shares of the scores' variance due to one factor, to another, and to their interaction."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import chdtr, chndtrinc

from dmlbench.errors import UserError
from dmlbench.statistics.equivalence import half_interval
from dmlbench.statistics.other_classes import HALVES, of_splits

FIRST, SECOND, TOGETHER, REST = "first", "second", "together", "rest"
"""Sources of variance: two factors, their interaction, and differences between repetitions."""

_DRAWS = 2000


class Source(NamedTuple):
    """One source of variance.

    Attributes:
        share: of the total variance, in [0, 1]: omega squared, negative values set to 0.
        low, high: its 95 % interval over repetitions; NaN for fewer than three.
        deviation: the corresponding standard deviation, in the unit of the values.
        f, p_value: of the F test that it is zero; NaN for the rest.
    """

    share: float
    low: float
    high: float
    deviation: float
    f: float
    p_value: float


def variance_shares(values: pd.DataFrame, first: str, second: str) -> dict[str, Source]:
    """Two-way analysis of variance with repetitions: the share of each source.

    Shares are omega squared, which unlike eta squared has expectation 0 if a factor has no effect;
    the rest makes them add up to 1. A repetition is a seed, or a split of the classes where there
    are several, in which seeds are averaged. With one repetition the interaction cannot be
    separated from the rest and is part of it.

    Intervals are for these levels. Over seeds they are the wider of two at each end: a jackknife
    over repetitions (Student's t), which is too narrow for shares near 0, and draws of the error
    variance (chi-squared) and of noncentralities (noncentral chi-squared) given the sums of
    squares, which is too narrow if some trainings fail (docs/intervals.md). Over splits, which
    share classes, they are of the jackknife alone, for other classes, with the error of resampled
    splits (`statistics.other_classes`).

    Args:
        values: one row for each combination and repetition, with the columns named here, `split`
            and `seed` for the repetition, and `value`.
        first, second: the columns of the factors.

    Returns:
        FIRST, SECOND, TOGETHER (with repetitions) and REST.

    Raises:
        UserError: a factor has one level, or combinations lack a repetition that others have.

    Source: W. L. Hays, Statistics for Psychologists, 1963 (omega squared); B. Efron, The
    Jackknife, the Bootstrap and Other Resampling Plans, 1982; S. Weerahandi, Generalized confidence
    intervals, Journal of the American Statistical Association 88, 1993.
    """
    over_splits = "split" in values and values["split"].nunique() > 1
    if over_splits:
        by = [first, second, "split"]
        values = values.groupby(by, sort=False)["value"].mean().reset_index()
    cube = _cube(values, [first, second, "split" if over_splits else "seed"])
    count = cube.shape[2]
    sources = _sources(_of_cube(cube))
    if count < 3:
        return sources
    drawn = dict.fromkeys(sources, (np.inf, -np.inf))
    if not over_splits:
        drawn = _drawn(_of_cube(cube), cube.size)
    left_out = [_sources(_of_cube(np.delete(cube, place, axis=2))) for place in range(count)]
    bounds = {
        source: [
            _jackknife(full.share, [each[source].share for each in left_out], over_splits),
            drawn[source],
        ]
        for source, full in sources.items()
    }
    return {
        source: full._replace(
            low=min(low for low, _ in bounds[source]), high=max(high for _, high in bounds[source])
        )
        for source, full in sources.items()
    }


def shares_of_summaries(
    summaries: pd.DataFrame, first: str, second: str, repetitions: int
) -> dict[str, Source]:
    """The same from means and standard deviations, as documents print them; without intervals.

    Args:
        summaries: one row for each combination, with the columns named here, `value` and `std`
            (n - 1).
        first, second: the columns of the factors.
        repetitions: the number of values of each mean, at least 2.

    Returns and raises: as `variance_shares`.
    """
    means = _cube(summaries, [first, second])
    return _sources(_sums(means, float((summaries["std"] ** 2).mean()), repetitions))


def _cube(values: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Values by the levels of these columns: one axis for each."""
    by = [values[column] for column in columns]
    table = values.groupby(by, sort=False)["value"].agg(["size", "mean"])
    levels = [column.nunique() for column in by]
    if min(levels[:2]) < 2:
        raise UserError(
            f"shares of variance: {levels[0]} values of {columns[0]}, {levels[1]} of {columns[1]}; "
            "allowed: at least 2 of each"
        )
    full = pd.MultiIndex.from_product([column.unique() for column in by])
    lacking = full.difference(table.index)
    if len(lacking) or (table["size"] > 1).any():
        where = lacking[0] if len(lacking) else table.index[table["size"] > 1][0]
        problem = "no score" if len(lacking) else "several scores"
        which = ", ".join(f"{name} {level}" for name, level in zip(columns, where, strict=True))
        raise UserError(f"shares of variance: {problem} with {which}; allowed: one of each")
    return table["mean"].reindex(full).to_numpy().reshape(levels)


Sums = dict[str, tuple[float, int]]
"""Source -> its sum of squares and degrees of freedom."""


def _of_cube(cube: np.ndarray) -> Sums:
    count = cube.shape[2]
    within = float(cube.var(axis=2, ddof=1).mean()) if count > 1 else np.nan
    return _sums(cube.mean(axis=2), within, count)


def _sums(means: np.ndarray, within: float, count: int) -> Sums:
    """Sums of squares of means [A, B] of `count` values each, whose variance is `within`."""
    rows, columns = means.shape
    mean = means.mean()
    by_row, by_column = means.mean(1, keepdims=True), means.mean(0, keepdims=True)

    def squares(deviations: np.ndarray) -> float:
        return count * float((np.broadcast_to(deviations, means.shape) ** 2).sum())

    free = rows * columns * (count - 1)
    sums = {
        FIRST: (squares(by_row - mean), rows - 1),
        SECOND: (squares(by_column - mean), columns - 1),
        TOGETHER: (squares(means - by_row - by_column + mean), (rows - 1) * (columns - 1)),
        REST: (free * within, free),
    }
    if count == 1:
        sums[REST] = sums.pop(TOGETHER)
    return sums


def _sources(sums: Sums) -> dict[str, Source]:
    left, free = sums[REST]
    error = left / free
    total = sum(squares for squares, _ in sums.values()) + error
    variance = total / (1 + sum(degrees for _, degrees in sums.values()))
    sources = {}
    for source, (squares, degrees) in sums.items():
        if source == REST:
            continue
        share = max(squares - degrees * error, 0) / total if total else 0.0
        f = squares / degrees / error if error else np.nan
        p_value = float(stats.f.sf(f, degrees, free))
        deviation = float(np.sqrt(share * variance))
        sources[source] = Source(share, np.nan, np.nan, deviation, f, p_value)
    rest = 1 - sum(source.share for source in sources.values())
    deviation = float(np.sqrt(rest * variance))
    return sources | {REST: Source(rest, np.nan, np.nan, deviation, np.nan, np.nan)}


def _jackknife(share: float, left_out: list[float], over_splits: bool) -> tuple[float, float]:
    count = len(left_out)
    pseudo = count * share - (count - 1) * np.asarray(left_out)
    half = half_interval(of_splits(pseudo, ratio=HALVES if over_splits else 0.0))
    return max(float(share - half), 0.0), min(float(share + half), 1.0)


def _drawn(sums: Sums, size: int) -> dict[str, tuple[float, float]]:
    """95 % of the drawn shares of each source, of `size` values."""
    left, free = sums[REST]
    if not left:
        return dict.fromkeys(sums, (np.nan, np.nan))
    generator = np.random.default_rng(0)
    error = left / generator.chisquare(free, _DRAWS)
    effects = {source: effect for source, effect in sums.items() if source != REST}
    together = tuple(map(sum, zip(*effects.values(), strict=True)))
    # What is not the rest has one noncentrality, so that the rest's share can be near 1.
    shares = {REST: 1 / (1 + _noncentral(*together, error, generator) / size)}
    drawn = {source: _noncentral(*effect, error, generator) for source, effect in effects.items()}
    shares |= {source: draws / (sum(drawn.values()) + size) for source, draws in drawn.items()}
    return {
        source: tuple(map(float, np.quantile(share, [0.025, 0.975])))
        for source, share in shares.items()
    }


def _noncentral(
    squares: float, degrees: int, error: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Draws of the noncentrality of a sum of squares, given draws of the error variance."""
    scaled, level = squares / error, generator.random(len(error))
    shown = chdtr(degrees, scaled) > level
    noncentralities = np.zeros(len(error))
    noncentralities[shown] = chndtrinc(scaled[shown], degrees, level[shown])
    return noncentralities

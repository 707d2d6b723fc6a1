"""How much of the scores' variance goes with one factor, with another, with both together."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.errors import UserError

FIRST, SECOND, TOGETHER, REST = "first", "second", "together", "rest"
"""Where variance comes from: two factors, what they do together, and what repetitions differ by."""


class Source(NamedTuple):
    """One of the places that variance comes from.

    Attributes:
        share: of the total variance, in [0, 1]: omega squared, below 0 taken for 0.
        low, high: its 95 % interval; not a number for fewer than three repetitions.
        deviation: the standard deviation that goes with it, in the unit of the values.
        f, p_value: of the F test that it is nothing; not a number for the rest.
    """

    share: float
    low: float
    high: float
    deviation: float
    f: float
    p_value: float


def variance_shares(
    values: pd.DataFrame, first: str, second: str, repetition: str = "seed"
) -> dict[str, Source]:
    """Two-way analysis of variance with repetitions: who is responsible for how much of it.

    Shares are omega squared, which unlike eta squared expects 0 where a factor does nothing; what
    no factor has is the rest, so that they add up to 1. With one repetition what factors do
    together cannot be told from the rest and is part of it. Intervals are a jackknife's over
    repetitions (Student's t).

    Args:
        values: one row for each combination and repetition, with the columns named here and
            `value`.
        first, second: the columns of the factors.
        repetition: the column of the repetitions.

    Returns:
        FIRST, SECOND, TOGETHER (with repetitions) and REST.

    Raises:
        UserError: a factor with one level, or combinations that lack a repetition of others.

    Source: W. L. Hays, Statistics for Psychologists, 1963 (omega squared); B. Efron, The
    Jackknife, the Bootstrap and Other Resampling Plans, 1982.
    """
    cube = _cube(values, first, second, repetition)
    sources = _analysis(cube)
    count = cube.shape[2]
    if count < 3:
        return sources
    left_out = [_analysis(np.delete(cube, place, axis=2)) for place in range(count)]
    return {
        source: found._replace(**_jackknife(found.share, [each[source].share for each in left_out]))
        for source, found in sources.items()
    }


def _cube(values: pd.DataFrame, first: str, second: str, repetition: str) -> np.ndarray:
    """Values [A, B, n] by level of the factors and repetition."""
    by = [values[first], values[second], values[repetition]]
    table = values.groupby(by, sort=False)["value"].agg(["size", "mean"])
    levels = [column.nunique() for column in by]
    if levels[0] < 2 or levels[1] < 2:
        raise UserError(
            f"shares of variance: {levels[0]} values of {first}, {levels[1]} of {second}; "
            "allowed: at least 2 of each"
        )
    full = pd.MultiIndex.from_product([column.unique() for column in by])
    lacking = full.difference(table.index)
    if len(lacking) or (table["size"] > 1).any():
        where = lacking[0] if len(lacking) else table.index[table["size"] > 1][0]
        found = "no score" if len(lacking) else "several scores"
        raise UserError(
            f"shares of variance: {found} with {first} {where[0]}, {second} {where[1]}, "
            f"{repetition} {where[2]}; allowed: one of each combination"
        )
    return table["mean"].reindex(full).to_numpy().reshape(levels)


def _analysis(cube: np.ndarray) -> dict[str, Source]:
    rows, columns, repetitions = cube.shape
    mean = cube.mean()
    by_row, by_column = cube.mean((1, 2), keepdims=True), cube.mean((0, 2), keepdims=True)
    cell = cube.mean(2, keepdims=True)

    def squares(deviations: np.ndarray) -> float:
        return float((np.broadcast_to(deviations, cube.shape) ** 2).sum())

    sums = {
        FIRST: (squares(by_row - mean), rows - 1),
        SECOND: (squares(by_column - mean), columns - 1),
        TOGETHER: (squares(cell - by_row - by_column + mean), (rows - 1) * (columns - 1)),
        REST: (squares(cube - cell), rows * columns * (repetitions - 1)),
    }
    if repetitions == 1:
        sums[REST] = sums.pop(TOGETHER)
    return _sources(sums)


def _sources(sums: Mapping[str, tuple[float, int]]) -> dict[str, Source]:
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


def _jackknife(share: float, left_out: list[float]) -> dict[str, float]:
    count = len(left_out)
    pseudo = count * share - (count - 1) * np.asarray(left_out)
    half = stats.t.ppf(0.975, count - 1) * pseudo.std(ddof=1) / np.sqrt(count)
    return {"low": max(float(share - half), 0.0), "high": min(float(share + half), 1.0)}

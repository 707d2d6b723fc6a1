"""What one comparison shows: supported, contradicted, equivalent or inconclusive."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtr

from dmlbench.statistics.equivalence import ALPHA, Difference, equivalence_p
from dmlbench.statistics.paired import holm

SUPPORTED, CONTRADICTED = "supported", "contradicted"
EQUIVALENT, INCONCLUSIVE = "equivalent", "inconclusive"

NOISE = 1e-9
"""Differences that rounding of floating-point numbers can make, in points."""


class Tests(NamedTuple):
    """The p-values of one comparison; NaN for a test that cannot be made.

    Attributes:
        holds: that the claim does not hold: a small one supports it.
        fails: that it holds: a small one contradicts it.
        same: that there is an effect that matters: a small one shows that there is none.
    """

    holds: float
    fails: float
    same: float


def of_difference(difference: Difference, direction: str, by: float, smallest: float) -> Tests:
    """Test a difference against a claim.

    Args:
        direction: `greater`, `less`, `at_least`, `at_most` or `equal`.
        by: the claimed amount.
        smallest: the smallest effect of interest: what a difference must be below to be none, the
            slack of `at_least` and `at_most`, the margin of `equal`. An amount other than 0 has no
            equivalence.
    """
    value, error, freedom = difference
    delta = value - by
    if direction == "equal":
        return _of_equality(Difference(delta, error, freedom), smallest)
    delta = delta if direction in ("greater", "at_least") else -delta
    slack = smallest if direction in ("at_least", "at_most") else 0.0
    above, below = (_tail(sign * (delta + slack), error, freedom) for sign in (1, -1))
    if slack or direction in ("at_least", "at_most"):
        return Tests(_or_equal(above, delta + slack, error), below, np.nan)
    if error == 0 and abs(delta) <= NOISE:
        return Tests(1.0, 1.0, 0.0)
    same = np.nan
    if smallest > 0 and by == 0:
        same = float(equivalence_p(Difference(delta, error, freedom), smallest))
    return Tests(above, below, same)


def of_correlation(
    coefficient: float, points: int, direction: str, by: float, smallest: float
) -> Tests:
    """Test Spearman's coefficient of N points by Fisher's z.

    The standard error of z is sqrt((1 + r^2 / 2) / (N - 3)).

    Args:
        by: the claimed coefficient.
        smallest: the smallest coefficient of interest.

    Source: D. G. Bonett and T. A. Wright, Sample size requirements for estimating Pearson, Kendall
    and Spearman correlations, Psychometrika 65, 2000.
    """
    if points < 4:
        return Tests(np.nan, np.nan, np.nan)
    error = ((1 + coefficient**2 / 2) / (points - 3)) ** 0.5
    z, claimed, limit = (
        np.arctanh(np.clip(number, -1 + NOISE, 1 - NOISE)) for number in (coefficient, by, smallest)
    )
    sign = 1 if direction in ("greater", "at_least") else -1
    away = sign * (z - claimed) / error
    same = float(ndtr((abs(z) - limit) / error)) if by == 0 else np.nan
    return Tests(float(ndtr(-away)), float(ndtr(away)), same)


def outcomes(tests: Sequence[Tests], need: str | float) -> list[str]:
    """What each of several comparisons of one claim shows.

    A claim that needs all comparisons is wrong once, so its contradictions are corrected by Holm;
    one that needs any is right once, so its support is; a share corrects both. The other side needs
    no correction: it takes all comparisons to err (intersection-union test).
    """
    of_holds, of_against = need != "all", need != "any"
    holds = _corrected([each.holds for each in tests], of_holds)
    fails = _corrected([each.fails for each in tests], of_against)
    same = _corrected([each.same for each in tests], of_against)
    return [
        EQUIVALENT
        if s <= ALPHA
        else SUPPORTED
        if h <= ALPHA
        else CONTRADICTED
        if f <= ALPHA
        else INCONCLUSIVE
        for h, f, s in zip(holds, fails, same, strict=True)
    ]


def combined(shown: Sequence[str], need: str | float) -> str:
    """The verdict on a claim from what its comparisons show.

    Where a claim asks for an effect in all of them, one without an effect contradicts it.
    """
    if not shown:
        return INCONCLUSIVE
    good, same = shown.count(SUPPORTED), shown.count(EQUIVALENT)
    against = same + shown.count(CONTRADICTED)
    needed = {"all": len(shown), "any": 1}.get(need) or int(np.ceil(need * len(shown) - NOISE))
    if good >= needed:
        return SUPPORTED
    if len(shown) - against < needed:
        return EQUIVALENT if same == len(shown) else CONTRADICTED
    return INCONCLUSIVE


def place_among(shown: Sequence[str], first: int, last: int) -> str:
    """The verdict on the place of an arm among its controls.

    Args:
        shown: what the comparisons of the arm with each control, as `greater`, show.
        first, last: the claimed places.
    """
    best = 1 + shown.count(CONTRADICTED)
    worst = 1 + len(shown) - shown.count(SUPPORTED)
    if first <= best and worst <= last:
        return SUPPORTED
    return CONTRADICTED if best > last or worst < first else INCONCLUSIVE


def _corrected(p_values: Sequence[float], correct: bool) -> np.ndarray:
    uncorrected = pd.Series(p_values, dtype=float)
    return (holm(uncorrected) if correct else uncorrected).to_numpy()


def _of_equality(difference: Difference, margin: float) -> Tests:
    value, error, freedom = difference
    if error == 0:
        inside = abs(value) <= margin + NOISE
        return Tests(0.0 if inside else 1.0, 1.0 if inside else 0.0, np.nan)
    outside = _tail(abs(value) - margin, error, freedom)
    return Tests(float(equivalence_p(difference, margin)), min(2 * outside, 1.0), np.nan)


def _tail(distance: float, error: float, freedom: float) -> float:
    """The probability of an estimate this far above 0 or farther, if it is 0."""
    if error == 0:
        return 0.0 if distance > NOISE else 1.0
    return float(stdtr(freedom, -distance / error))


def _or_equal(above: float, distance: float, error: float) -> float:
    return 0.0 if error == 0 and distance >= -NOISE else above

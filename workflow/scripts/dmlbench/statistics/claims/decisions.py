"""What one comparison shows: supported, contradicted, equivalent or inconclusive."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from dmlbench.statistics.equivalence import Difference
from dmlbench.statistics.paired import holm

SUPPORTED, CONTRADICTED = "supported", "contradicted"
EQUIVALENT, INCONCLUSIVE = "equivalent", "inconclusive"

ALPHA = 0.025
"""The largest probability of showing what is not so, on one side: a verdict says what the 95 %
interval says."""

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


class Shown(NamedTuple):
    """A difference: how surely it is on one side of a number.

    Which of several arms is best, the numbers themselves say, so a plain test of that one finds
    differences where there are none. The best arm is above a number if *some* arm is, of which
    there are several tests (Bonferroni), and below it if *all* are, which needs no correction; the
    errors of the arms are taken as alike.

    Attributes:
        difference: of the arms that the numbers choose.
        above_tests, below_tests: how many differences one of which is enough.
    """

    difference: Difference
    above_tests: int = 1
    below_tests: int = 1

    def above(self, number: float) -> float:
        """p-value of the one-sided test that the true difference is above a number."""
        value, error, freedom = self.difference
        return min(_tail(value - number, error, freedom) * self.above_tests, 1.0)

    def below(self, number: float) -> float:
        """p-value of the one-sided test that it is below a number."""
        value, error, freedom = self.difference
        return min(_tail(number - value, error, freedom) * self.below_tests, 1.0)

    def interval(self) -> tuple[float, float]:
        """The ends of what neither test excludes at `ALPHA`."""
        value, error, freedom = self.difference
        halves = [
            float(stdtrit(freedom, 1 - ALPHA / tests) * error) if error else 0.0
            for tests in (self.above_tests, self.below_tests)
        ]
        return float(value - halves[0]), float(value + halves[1])


def of_difference(shown: Shown, direction: str, by: float, smallest: float) -> Tests:
    """Test a difference against a claim.

    Args:
        direction: `greater`, `less`, `at_least`, `at_most` or `equal`.
        by: the claimed amount.
        smallest: the smallest effect of interest: what a difference must be below to be none, the
            slack of `at_least` and `at_most`, the margin of `equal`. An amount other than 0 has no
            equivalence.
    """
    # Known numbers that are equal are within any limits.
    limits = [by - smallest, by + smallest] if direction == "equal" or not by else [by, by]
    within = max(shown.above(limits[0] - 2 * NOISE), shown.below(limits[1] + 2 * NOISE))
    if direction == "equal":
        outside = min(shown.above(limits[1]), shown.below(limits[0]))
        return Tests(within, min(2 * outside, 1.0), np.nan)
    if direction == "at_least":
        return Tests(shown.above(by - smallest - 2 * NOISE), shown.below(by - smallest), np.nan)
    if direction == "at_most":
        return Tests(shown.below(by + smallest + 2 * NOISE), shown.above(by + smallest), np.nan)
    above, below = shown.above(by), shown.below(by)
    return Tests(above, below, within) if direction == "greater" else Tests(below, above, within)


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
    error = _error_of_z(coefficient, points)
    z, claimed, limit = (
        np.arctanh(np.clip(number, -1 + NOISE, 1 - NOISE)) for number in (coefficient, by, smallest)
    )
    sign = 1 if direction in ("greater", "at_least") else -1
    away = sign * (z - claimed) / error
    same = float(ndtr((abs(z) - limit) / error)) if by == 0 else np.nan
    return Tests(float(ndtr(-away)), float(ndtr(away)), same)


def interval_of_correlation(coefficient: float, points: int) -> tuple[float, float]:
    """The interval whose ends the one-sided tests at `ALPHA` do not exclude."""
    z = np.arctanh(np.clip(coefficient, -1 + NOISE, 1 - NOISE))
    half = ndtri(1 - ALPHA) * _error_of_z(coefficient, points)
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def _error_of_z(coefficient: float, points: int) -> float:
    return ((1 + coefficient**2 / 2) / (points - 3)) ** 0.5


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


def deciding(tests: Sequence[Tests], need: str | float, verdict: str) -> int | None:
    """Which of several comparisons decides: the weakest of all that are needed, or the best of any.

    None where it takes several, or one is all there are.
    """
    if len(tests) < 2 or need not in ("all", "any"):
        return None
    if verdict == CONTRADICTED and need == "all":
        return int(np.nanargmin([np.fmin(each.fails, each.same) for each in tests]))
    holds = [each.holds for each in tests]
    if np.isnan(holds).all():
        return None
    return int(np.nanargmax(holds) if need == "all" else np.nanargmin(holds))


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


def _tail(distance: float, error: float, freedom: float) -> float:
    """The probability of an estimate this far above 0 or farther, if it is 0."""
    if error == 0:
        return 0.0 if distance > NOISE else 1.0
    return float(stdtr(freedom, -distance / error))

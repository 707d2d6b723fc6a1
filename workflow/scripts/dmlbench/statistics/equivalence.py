"""Equivalence: is a difference shown to be small, and how many runs would show it?

A test that finds no difference shows nothing: it may have had too few runs. Equivalence is shown by
two one-sided tests (TOST): one rejects that the difference is at or above the margin, the other
that it is at or below minus the margin. Functions of a `Difference` take numbers or arrays.

Source: D. J. Schuirmann, A comparison of the two one-sided tests procedure and the power approach
for assessing the equivalence of average bioavailability, Journal of Pharmacokinetics and
Biopharmaceutics 15, 1987.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtrinc, ndtr, ndtri, stdtr, stdtrit

from dmlbench.errors import UserError

ALPHA = 0.05
"""The largest probability of showing what is not so."""

POWER = 0.8
"""The probability of showing what is so, by which numbers of runs are planned."""

UNPAIRED = (0.8, 1.25)
"""The variance ratios at which pairing gains nothing, and pairs are compared as two samples.

Above them pairs vary in opposite directions, and two samples would have too small an error.
"""

MOST_RUNS = 1000
"""The largest number of runs that is looked at."""

_QUANTILES = (np.arange(100) + 0.5) / 100


class Difference(NamedTuple):
    """An estimated difference, in the unit of the values.

    Attributes:
        value: the estimate, missing (NaN) if it is unknown.
        error: its standard error, >= 0; NaN if it cannot be estimated, as from one run.
        freedom: degrees of freedom of the error, infinite if it is known.
    """

    value: np.ndarray | float
    error: np.ndarray | float
    freedom: np.ndarray | float


def between(first, second) -> Difference:
    """The mean of one sample minus that of another, by Welch: the deviations may differ.

    Args:
        first, second: one value per run, [n] and [m].

    Raises:
        UserError: no values.
    """
    mean, variance, count = _moments(first, "first")
    other, its_variance, its_count = _moments(second, "second")
    error = _welch(variance / count, count - 1, its_variance / its_count, its_count - 1)
    return Difference(mean - other, *error)


def of_pairs(first, second) -> Difference:
    """The mean difference of pairs, such as trainings of equal seeds.

    Args:
        first, second: one value per pair, [n].

    Raises:
        UserError: no values, or samples of different length.
    """
    if np.shape(first) != np.shape(second):
        raise UserError(
            f"pairs: shapes {np.shape(first)} and {np.shape(second)}; allowed: two equal ones"
        )
    mean, variance, count = _moments(np.subtract(first, second), "pairs")
    return Difference(mean, (variance / count) ** 0.5, count - 1)


class Further(NamedTuple):
    """A standard error that is independent of a difference's own, and its degrees of freedom."""

    error: float
    freedom: float


def widened(difference: Difference, further: Further | None) -> Difference:
    """A difference with a further error (Welch and Satterthwaite); the same for None."""
    if further is None:
        return difference
    variances = difference.error**2, further.error**2
    error = _welch(variances[0], difference.freedom, variances[1], further.freedom)
    return Difference(difference.value, *error)


def of_runs(first, second, *, ratio: float) -> Difference:
    """The mean difference of runs with equal seeds: as pairs, or as two samples.

    Args:
        first, second: one value per seed, [n], in the order of the seeds.
        ratio: the `variance_ratio` of all comparisons that are tested together.

    Raises:
        UserError: as `of_pairs`.
    """
    return of_pairs(first, second) if pairing_gains(ratio) else between(first, second)


def pairing_gains(ratio: float) -> bool:
    """Are runs of equal seeds compared as pairs, at this `variance_ratio`? Also if it is unknown.

    Two samples have up to twice the degrees of freedom. How often the test that is chosen finds a
    difference where there is none is simulated in docs/intervals.md.
    """
    lowest, highest = UNPAIRED
    return not lowest <= ratio <= highest


def variance_ratio(comparisons) -> float:
    """What pairing gains: the variance of differences over the sum of both variances.

    Near 0 pairs vary together; at 1 they are as good as independent.

    Args:
        comparisons: pairs of samples, each with one value per seed, [n]; their variances are added
            up, without those of single seeds.

    Returns:
        The ratio; missing without variance.

    Raises:
        UserError: as `of_pairs`.
    """
    together = apart = 0.0
    for first, second in comparisons:
        if len(first) < 2:
            continue
        as_pairs, both = of_pairs(first, second), between(first, second)
        together += as_pairs.error**2
        apart += both.error**2
    return float(together / apart) if apart else float("nan")


def equivalence_p(difference: Difference, margin):
    """p-value of the two one-sided tests: at most `ALPHA` shows that |difference| < margin."""
    value, error, freedom = difference
    return stdtr(freedom, _in_errors(np.abs(value) - margin, error))


def beyond_p(difference: Difference, margin):
    """p-value of the opposite test: at most `ALPHA` shows that |difference| > margin.

    With a margin of 0 it is that of the two-sided t test.
    """
    value, error, freedom = difference
    distance = np.abs(value)
    tails = [stdtr(freedom, _in_errors(gap - distance, error)) for gap in (margin, -margin)]
    return np.minimum(tails[0] + tails[1], 1)


def p_value_of(difference: Difference) -> float:
    """p-value of the two-sided t test of no difference; NaN where its error is unknown or 0."""
    return float(beyond_p(difference, 0)) if difference.error else np.nan


def half_interval(difference: Difference):
    """Half of the 95 % interval of a difference (Student's t); NaN if its error is unknown."""
    return stdtrit(difference.freedom, 1 - ALPHA / 2) * difference.error


def detectable_difference(error, freedom):
    """The smallest true difference that a t test finds with a probability of `POWER`.

    Where no difference is found, larger ones than this would probably have been found.

    Args:
        error: standard error of the estimated difference.
        freedom: its degrees of freedom.
    """
    known = np.isinf(freedom)
    degrees = np.where(known, 1.0, freedom)
    shift = nctdtrinc(degrees, 1 - POWER, stdtrit(degrees, 1 - ALPHA / 2))
    return error * np.where(known, ndtri(1 - ALPHA / 2) + ndtri(POWER), shift)


def equivalence_power(margin, error, freedom, *, true=0.0, alpha=ALPHA):
    """The probability that the two one-sided tests show equivalence.

    Args:
        margin: of equivalence.
        error: the true standard error of the difference, > 0.
        freedom: degrees of freedom of its estimate.
        true: the true difference.
        alpha: of each of the two tests.
    """
    margin, error, freedom, true = np.broadcast_arrays(margin, error, freedom, true)
    estimated = np.ones((*margin.shape, len(_QUANTILES)))
    finite = np.isfinite(freedom)
    degrees = freedom[finite][..., None]
    estimated[finite] = np.sqrt(chdtri(degrees, _QUANTILES) / degrees)
    room = (margin / error)[..., None] - stdtrit(freedom, 1 - alpha)[..., None] * estimated
    shift = (true / error)[..., None]
    shown = np.where(room > 0, ndtr(room - shift) - ndtr(-room - shift), 0)
    return shown.mean(axis=-1)


def runs_needed(deviation, margin, *, error=0.0, freedom=None, alpha=ALPHA):
    """How many runs show equivalence with a probability of `POWER` if there is no difference.

    Args:
        deviation: of single runs, or of the differences of pairs.
        margin: of equivalence.
        error: standard error of the printed number that they are compared with.
        freedom: degrees of freedom of a deviation that is known beforehand, so that one run can
            be enough; None if the runs themselves must estimate it.
        alpha: of each of the two tests.

    Returns:
        The smallest such number; infinite if `MOST_RUNS` are too few, as they are where the
        printed number itself is too uncertain.
    """
    deviation, margin, error = np.broadcast_arrays(deviation, margin, error)

    def enough(count: np.ndarray) -> np.ndarray:
        variance = np.maximum(deviation**2 / count, np.finfo(float).tiny)
        degrees = count - 1 if freedom is None else freedom
        estimated = _welch(variance, degrees, error**2, np.inf)
        return equivalence_power(margin, *estimated, alpha=alpha) >= POWER

    fewest = 2 if freedom is None else 1
    low, high = np.full(margin.shape, fewest - 1), np.full(margin.shape, MOST_RUNS)
    reached = enough(high)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, fewest)
        fits = enough(middle)
        low, high = np.where(fits, low, np.minimum(middle, high - 1)), np.where(fits, middle, high)
    return np.where(reached, high, np.inf)[()]


def _moments(values, what: str) -> tuple[float, float, int]:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) == 0:
        raise UserError(f"{what}: shape {values.shape}; allowed: [n] with n > 0")
    variance = values.var(ddof=1) if len(values) > 1 else np.nan
    return float(values.mean()), float(variance), len(values)


def _welch(variance, freedom, other, its_freedom):
    """Standard error and Satterthwaite's degrees of freedom of a sum of two variances."""
    total = np.asarray(variance + other, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.where(part == 0, 0, np.divide(part**2, degrees))
            for part, degrees in ((variance, freedom), (other, its_freedom))
        ]
        degrees = np.where(total > 0, total**2 / sum(parts), freedom)
    return np.sqrt(total)[()], degrees[()]


def _in_errors(gap, error):
    """A gap in standard errors; infinite, with its sign, if the error is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error == 0, np.copysign(np.inf, gap), np.divide(gap, error))

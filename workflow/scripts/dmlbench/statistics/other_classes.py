"""Differences between methods, for other classes than those of the study.

Runs on several splits of the classes are not independent: two halves of one data set share half of
their test classes, and each tests on what the other trains on. What is known decides the error:

- the score of each test class (`of_classes`): classes and runs are crossed random effects, and what
  training classes add is carried over to other ones;
- one score for each split (`of_splits`): Nadeau and Bengio's error for splits that are resampled;
- two trained networks and the same queries (`of_test_classes`): other classes to test on, but
  neither other classes to train on nor other seeds.

With one split, runs say something about other seeds alone.

Source: C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52, 2003;
G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments, Statistical Applications in Genetics and Molecular Biology 3, 2004 (the
prior). How often the intervals hold the difference on disjoint classes: docs/intervals.md.
"""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from dmlbench.statistics.equivalence import Difference

SEED, SPLIT, CLASS, TEST_CLASS, LOSS = "seed", "split", "class", "test class", "loss"
"""What repeats behind an interval: what its numbers would be drawn again of."""

ABOUT = {
    SEED: "other seeds, the same classes",
    SPLIT: "other classes, from splits of the same ones",
    CLASS: "other classes, by the scores of each class",
    TEST_CLASS: "other test classes, the same trained networks",
    LOSS: "other losses",
}
"""What repeats -> what an interval is about."""

FEWEST_RUNS = 4
"""Runs on several splits below which what the training classes add cannot be estimated."""

HALVES = 1.0
"""Test classes per training class, where halves of the classes train and test."""

_SWEEPS = 40
_MOST = 5e3


class Prior(NamedTuple):
    """What variances of comparable differences have in common, as an inverse chi-squared prior.

    Attributes:
        variance: their common size.
        freedom: how much it counts, in degrees of freedom; infinite if they do not differ.
        most: the most degrees of freedom of a variance that is shrunk to it.
    """

    variance: float
    freedom: float
    most: float


def prior_of(scores) -> Prior | None:
    """The prior of the variance, over splits, of the difference of two methods.

    Args:
        scores: [methods, splits].

    Returns:
        None where fewer than three methods or a single split leave it unknown.
    """
    scores = np.asarray(scores, dtype=float)
    if len(scores) < 3 or scores.shape[1] < 2:
        return None
    methods, splits = scores.shape
    pairs = itertools.combinations(range(methods), 2)
    variances = [(scores[first] - scores[other]).var(ddof=1) for first, other in pairs]
    return prior_of_variances(variances, splits - 1, most=(methods - 1) * (splits - 1))


def prior_of_variances(variances, freedom: float, most: float) -> Prior | None:
    """The prior of variances with so many degrees of freedom each, by the moments of their logs."""
    variances = np.asarray(variances, dtype=float)
    variances = variances[variances > 0]
    if len(variances) < 3:
        return None
    centered = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = centered.var(ddof=1) - polygamma(1, freedom / 2)
    if excess <= polygamma(1, _MOST):
        return Prior(float(variances.mean()), np.inf, most)
    known = 2 * brentq(lambda half: polygamma(1, half) - excess, 1e-3, _MOST)
    variance = np.exp(centered.mean() + digamma(known / 2) - np.log(known / 2))
    return Prior(float(variance), known, most)


def of_splits(differences, *, prior: Prior | None = None, ratio: float = HALVES) -> Difference:
    """The mean difference over splits of the same classes, for other classes.

    Its variance is s^2 (1/J + ratio): more splits of the same classes do not take it to 0.

    Args:
        differences: of two methods, one per split, [J].
        prior: of differences of two methods; None where this is another contrast.
        ratio: test classes per training class of a split.
    """
    differences = np.asarray(differences, dtype=float)
    count = len(differences)
    if count < 2:
        return Difference(float(differences.mean()), np.nan, np.nan)
    variance, freedom = differences.var(ddof=1), count - 1.0
    if prior is not None:
        if np.isinf(prior.freedom):
            variance, freedom = prior.variance, prior.most
        else:
            total = prior.freedom + freedom
            variance = (prior.freedom * prior.variance + freedom * variance) / total
            freedom = min(total, prior.most)
    error = (variance * (1 / count + ratio)) ** 0.5
    return Difference(float(differences.mean()), float(error), float(freedom))


class _Crossed(NamedTuple):
    """Least squares of differences as class + run.

    Attributes:
        mean: over classes.
        of_classes: the part of its variance that is due to the classes.
        of_runs: the variance of run effects beyond that of cells; at least 0 in expectation.
        classes, runs: how many there are.
    """

    mean: float
    of_classes: float
    of_runs: float
    classes: int
    runs: int


def kappa_of(contrasts: Iterable) -> float:
    """What runs add to the variance of a difference, relative to what classes add.

    One ratio for all pairs of methods, because a single pair does not determine it.

    Args:
        contrasts: the differences of pairs of methods, each [runs, classes] as `of_classes` takes
            them.
    """
    fitted = [_crossed(each) for each in contrasts]
    of_classes = sum(each.of_classes for each in fitted)
    return max(0.0, sum(each.of_runs for each in fitted) / of_classes) if of_classes else 0.0


def of_classes(differences, *, kappa: float) -> Difference:
    """The mean difference over classes, for other classes to train and to test on.

    Its variance is s^2 / C (1 + kappa (1 + 1/J)) with the variance s^2 of the effects of C classes
    and J runs: kappa / J is what other runs on these training classes add, kappa what other
    training classes add, which all runs share.

    Args:
        differences: of the scores of two methods, [runs, classes], NaN where a class was not
            tested; `FEWEST_RUNS` or more.
        kappa: as `kappa_of` gives it for the study.
    """
    fitted = _crossed(differences)
    error = (fitted.of_classes * (1 + kappa * (1 + 1 / fitted.runs))) ** 0.5
    return Difference(fitted.mean, float(error), fitted.classes - 1.0)


def of_test_classes(differences, classes) -> Difference:
    """The mean difference of two networks' queries, for other classes to test these networks on.

    Classes are drawn with all of their queries (the ratio estimator of cluster sampling).

    Args:
        differences: one per query, [Q].
        classes: class of each query, [Q].
    """
    differences = np.asarray(differences, dtype=float)
    _, of_class = np.unique(classes, return_inverse=True)
    sums, counts = np.bincount(of_class, weights=differences), np.bincount(of_class)
    mean, number = float(differences.mean()), len(counts)
    if number < 2:
        return Difference(mean, np.nan, np.nan)
    error = (sums - mean * counts).std(ddof=1) / counts.mean() / number**0.5
    return Difference(mean, float(error), number - 1.0)


def _crossed(differences) -> _Crossed:
    differences = np.asarray(differences, dtype=float)
    tested = ~np.isnan(differences)
    differences, tested = differences[:, tested.any(0)], tested[:, tested.any(0)]
    filled = np.where(tested, differences, 0.0)
    by_class, by_run = tested.sum(0), tested.sum(1)
    runs, classes = np.zeros(len(filled)), filled.sum(0) / by_class
    for _ in range(_SWEEPS):
        runs = (filled - tested * classes).sum(1) / by_run
        runs -= runs.mean()
        classes = (filled - tested * runs[:, None]).sum(0) / by_class
    left = np.where(tested, filled - classes - runs[:, None], 0.0)
    free = tested.sum() - len(classes) - len(runs) + 1
    cell = (left**2).sum() / free if free > 0 else 0.0
    return _Crossed(
        mean=float(classes.mean()),
        of_classes=float(classes.var(ddof=1) / len(classes)),
        of_runs=float((runs**2).sum() / (len(runs) - 1) - cell / by_run.mean()),
        classes=len(classes),
        runs=len(runs),
    )

"""Errors of differences for other classes: where the classes are drawn, and the truth is known."""

import itertools

import numpy as np
import pytest
from dmlbench.statistics import other_classes
from dmlbench.statistics.equivalence import half_interval
from dmlbench.statistics.other_classes import kappa_of, of_classes, of_splits, prior_of
from scipy import stats
from scipy.special import stdtrit

CLASSES = 60
LOSSES = 6


def halves(random, pairs: int, *, swapped: bool = True) -> list[tuple[np.ndarray, np.ndarray]]:
    """Halves of the classes that train and test, each followed by its swap."""
    splits = []
    for _ in range(pairs):
        drawn = random.permutation(CLASSES)
        train, test = drawn[: CLASSES // 2], drawn[CLASSES // 2 :]
        splits += [(train, test), (test, train)] if swapped else [(train, test)]
    return splits


def scores(splits, random, *, of_class=2.0, of_training=1.5, of_seed=0.2) -> np.ndarray:
    """Scores of losses that are truly equal, [losses, runs, classes], NaN where not tested.

    A class is easier for one loss than for another, and so is a class to learn from.
    """
    easier = random.normal(0, of_class, (LOSSES, CLASSES))
    taught = random.normal(0, of_training, (LOSSES, CLASSES))
    found = np.full((LOSSES, len(splits), CLASSES), np.nan)
    for run, (train, test) in enumerate(splits):
        learned = taught[:, train].mean(1) + random.normal(0, of_seed, LOSSES)
        found[:, run, test] = easier[:, test] + learned[:, None]
        found[:, run, test] += random.normal(0, 1.0, (LOSSES, len(test)))
    return found


def covered(difference) -> bool:
    """Whether the 90 % interval holds the true difference, 0."""
    value, error, freedom = difference
    return abs(value) <= stdtrit(freedom, 0.95) * error


def rates(population: int, *, swapped: bool = True) -> dict[str, float]:
    """How often each 90 % interval holds the truth, over populations of classes."""
    held = {"classes": [], "splits": [], "independent": []}
    for number in range(population):
        random = np.random.default_rng([number, int(swapped)])
        found = scores(halves(random, 3 if swapped else 5, swapped=swapped), random)
        pairs = list(itertools.combinations(range(LOSSES), 2))
        kappa = kappa_of(found[a] - found[b] for a, b in pairs)
        of_runs = np.nanmean(found, axis=2)
        prior = prior_of(of_runs)
        for a, b in pairs:
            differences = of_runs[a] - of_runs[b]
            held["classes"].append(covered(of_classes(found[a] - found[b], kappa=kappa)))
            held["splits"].append(covered(of_splits(differences, prior=prior)))
            naive = stats.ttest_1samp(differences, 0).pvalue > 0.1
            held["independent"].append(naive)
    return {name: float(np.mean(each)) for name, each in held.items()}


def test_a_half_and_its_swap_are_enough_where_several_losses_share_a_variance():
    """The 95 % interval holds, and is far narrower than that of one degree of freedom."""
    held, narrower = [], []
    for number in range(60):
        random = np.random.default_rng([number, 2])
        of_runs = np.nanmean(scores(halves(random, 1), random), axis=2)
        prior = prior_of(of_runs)
        for a, b in itertools.combinations(range(LOSSES), 2):
            alone, shared = (
                of_splits(of_runs[a] - of_runs[b], prior=each) for each in (None, prior)
            )
            held.append(abs(shared.value) <= half_interval(shared))
            narrower.append(half_interval(shared) / half_interval(alone))
    assert np.mean(held) > 0.93
    assert np.median(narrower) < 0.4


@pytest.mark.slow
def test_intervals_hold_the_difference_on_other_classes_as_often_as_they_say():
    swapped, drawn = rates(150), rates(150, swapped=False)
    assert 0.86 < swapped["classes"] < 0.97
    assert drawn["splits"] > 0.87
    # What this file is for: splits that share classes, taken as independent.
    assert drawn["independent"] < 0.82


def test_the_mean_over_classes_is_the_mean_over_runs_of_halves_and_their_swaps():
    random = np.random.default_rng(0)
    found = scores(halves(random, 2), random)
    first, other = found[:2]
    expected = np.nanmean(first, axis=1).mean() - np.nanmean(other, axis=1).mean()
    assert of_classes(first - other, kappa=0.3).value == pytest.approx(expected)


def test_without_run_effects_the_error_is_that_of_a_sample_of_classes():
    of_class = np.random.default_rng(1).normal(size=40)
    cells = np.tile(of_class, (4, 1))
    value, error, freedom = of_classes(cells, kappa=kappa_of([cells]))
    assert value == pytest.approx(of_class.mean())
    assert error == pytest.approx(stats.sem(of_class))
    assert freedom == 39
    # kappa / J for other runs, kappa for other training classes.
    wider = of_classes(cells, kappa=0.8)
    assert wider.error == pytest.approx(error * (1 + 0.8 * 1.25) ** 0.5)


def test_kappa_is_the_share_of_runs_that_least_squares_finds():
    random = np.random.default_rng(2)
    of_class, of_run = random.normal(0, 2, 500), np.array([0.3, -0.3, 0.1, -0.1])
    cells = of_class + of_run[:, None]
    expected = of_run.var(ddof=1) / (of_class.var(ddof=1) / 500)
    assert kappa_of([cells]) == pytest.approx(expected)
    assert kappa_of([cells, cells]) == pytest.approx(expected)


def test_classes_that_no_run_tested_do_not_count():
    random = np.random.default_rng(3)
    cells = scores(halves(random, 2), random)[0]
    padded = np.hstack([cells, np.full((4, 7), np.nan)])
    assert of_classes(padded, kappa=0.1) == pytest.approx(of_classes(cells, kappa=0.1))


def test_a_prior_is_that_of_limma():
    # The distribution it assumes: variances s0^2 d0 / chi^2(d0), samples of 5 of them.
    random = np.random.default_rng(4)
    deviations = (9.0 * 8 / random.chisquare(8, 4000)) ** 0.5
    other_classes_prior = _prior_of_samples(random.normal(0, deviations[:, None], (4000, 5)))
    assert other_classes_prior.variance == pytest.approx(9.0, rel=0.1)
    assert other_classes_prior.freedom == pytest.approx(8, rel=0.25)


def _prior_of_samples(samples):
    """The prior of samples that are differences already: of methods with one reference each."""
    variances = samples.var(axis=1, ddof=1)
    return other_classes.prior_of_variances(variances, freedom=4, most=1e6)


def test_variances_that_do_not_differ_are_one():
    random = np.random.default_rng(5)
    prior = other_classes.prior_of_variances(random.chisquare(4, 10_000) / 4, freedom=4, most=36)
    assert prior.freedom > 50
    value, error, freedom = of_splits(
        [1.0, 2.0, 3.0, 2.0, 2.0], prior=prior._replace(freedom=np.inf)
    )
    assert (value, freedom) == (2.0, 36)
    assert error == pytest.approx((prior.variance * (1 / 5 + 1)) ** 0.5)


def test_too_little_is_known_for_a_prior():
    assert prior_of(np.random.default_rng(6).normal(size=(2, 5))) is None
    assert prior_of(np.random.default_rng(6).normal(size=(5, 1))) is None
    assert np.isnan(of_splits([1.0]).error)

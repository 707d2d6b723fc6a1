"""Equivalence tests: against scipy's single t tests, noncentral t, and simulation."""

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.equivalence import (
    Difference,
    between,
    beyond_p,
    detectable_difference,
    equivalence_p,
    equivalence_power,
    of_pairs,
    of_runs,
    runs_needed,
    variance_ratio,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

FIRST = np.array([61.2, 60.4, 61.9, 60.8])
SECOND = np.array([60.1, 61.5, 60.9, 60.2])

margins = st.floats(0.1, 5)
differences = st.builds(Difference, st.floats(-5, 5), st.floats(0.01, 3), st.floats(1, 100))


def two_tests(test, first, second, margin):
    """The larger p of two one-sided tests of scipy."""
    return max(
        test(first + margin, second, alternative="greater").pvalue,
        test(first - margin, second, alternative="less").pvalue,
    )


def welch(first, second, alternative):
    return stats.ttest_ind(first, second, equal_var=False, alternative=alternative)


@pytest.mark.parametrize("margin", [0.2, 1, 2.5])
def test_each_design_gives_the_larger_of_two_p_values(margin):
    assert equivalence_p(between(FIRST, SECOND), margin) == pytest.approx(
        two_tests(welch, FIRST, SECOND, margin)
    )
    assert equivalence_p(of_pairs(FIRST, SECOND), margin) == pytest.approx(
        two_tests(stats.ttest_rel, FIRST, SECOND, margin)
    )
    assert beyond_p(between(FIRST, SECOND), 0) == pytest.approx(
        welch(FIRST, SECOND, "two-sided").pvalue
    )


def test_pairs_that_vary_together_stay_pairs_and_others_are_two_samples():
    generator = np.random.default_rng(0)
    seeds, noise = generator.normal(size=(2, 12, 5)), generator.normal(size=(2, 12, 5))
    alike = list(zip(3 * seeds[0] + noise[0], 3 * seeds[0] + noise[1], strict=True))
    apart = list(zip(*seeds, strict=True))
    # Variance 2 of the difference, 10 of each.
    assert variance_ratio(alike) == pytest.approx(0.1, abs=0.03)
    assert variance_ratio(apart) == pytest.approx(1, abs=0.3)
    assert of_runs(*alike[0], ratio=variance_ratio(alike)) == of_pairs(*alike[0])
    assert of_runs(*apart[0], ratio=variance_ratio(apart)) == between(*apart[0])


@given(differences, margins)
def test_nothing_is_shown_to_be_within_and_beyond_a_margin(difference, margin):
    assert max(equivalence_p(difference, margin), beyond_p(difference, margin)) > 0.05
    assert equivalence_p(difference, 2 * margin) <= equivalence_p(difference, margin) + 1e-12
    # To rounding: both are 1 where the difference is as good as none.
    assert beyond_p(difference, 2 * margin) >= beyond_p(difference, margin) - 1e-12


def test_a_known_difference_is_within_or_beyond():
    exact = Difference(np.array([0.5, 2.0]), 0.0, np.inf)
    assert equivalence_p(exact, 1).tolist() == [0, 1]
    assert beyond_p(exact, 1).tolist() == [1, 0]


def test_one_run_without_a_known_deviation_shows_nothing():
    found = of_pairs([60.0], [60.0])
    assert found.value == 0
    assert np.isnan([found.error, equivalence_p(found, 5), beyond_p(found, 0)]).all()


@pytest.mark.parametrize("freedom", [1, 2, 4, 8.5, 30, 1000])
def test_the_detectable_difference_is_found_in_four_of_five_cases(freedom):
    shift = detectable_difference(2.0, freedom) / 2
    critical = stats.t.ppf(0.975, freedom)
    assert stats.nct.sf(critical, freedom, shift) == pytest.approx(0.8, abs=1e-6)
    if freedom == 1000:
        assert shift == pytest.approx(detectable_difference(1.0, np.inf), abs=0.005)


@pytest.mark.parametrize(
    ("count", "true", "margin"), [(3, 0, 1.5), (5, 0, 1), (5, 0.5, 1.2), (10, 1, 1), (10, 2, 1)]
)
def test_the_power_is_how_often_samples_show_equivalence(count, true, margin):
    samples = np.random.default_rng(count).normal(true, 1, (20_000, count))
    estimated = Difference(samples.mean(1), samples.std(1, ddof=1) / count**0.5, count - 1)
    shown = (equivalence_p(estimated, margin) <= 0.05).mean()
    power = equivalence_power(margin, count**-0.5, count - 1, true=true)
    assert shown == pytest.approx(power, abs=0.012)
    # At the margin, and beyond it, equivalence is shown in at most one of twenty cases.
    assert true < margin or shown < 0.054


@pytest.mark.parametrize("freedom", [None, np.inf])
def test_fewer_runs_than_needed_are_not_enough(freedom):
    margins = np.array([0.3, 0.6, 1.0, 2.5])
    needed = runs_needed(1.0, margins, freedom=freedom).astype(int)
    assert (np.diff(needed) <= 0).all()
    for count, margin in zip(needed, margins, strict=True):
        for runs, enough in ((count, True), (count - 1, False)):
            if runs >= (2 if freedom is None else 1):
                power = equivalence_power(margin, runs**-0.5, freedom or runs - 1)
                assert (power >= 0.8) == enough


def test_no_number_of_runs_makes_up_for_an_uncertain_printed_number():
    # With a known deviation of 1 and a printed single run, 2.93 is the least margin.
    assert runs_needed(1.0, 2.9, error=1.0, freedom=np.inf) == np.inf
    needed = runs_needed(1.0, 3.2, error=1.0, freedom=np.inf)
    least = 1 / ((3.2 / (stats.norm.ppf(0.95) + stats.norm.ppf(0.9))) ** 2 - 1)
    assert needed == np.ceil(least)


def test_what_is_no_sample_is_refused():
    with pytest.raises(UserError, match=r"first: shape \(0,\); allowed: \[n\] with n > 0"):
        between([], [1.0])
    with pytest.raises(UserError, match="allowed: two equal ones"):
        of_pairs([1.0, 2.0], [1.0])

"""Correlations against SciPy and by law."""

import math

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.correlation import correlate
from scipy import stats


@pytest.fixture
def cloud():
    rng = np.random.default_rng(3)
    x = rng.normal(size=20)
    return x, -0.6 * x + rng.normal(scale=0.8, size=20)


def test_coefficients_are_those_of_scipy(cloud):
    x, y = cloud
    found = correlate(x, y, resamples=200)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.points == 20


def test_the_interval_is_that_of_scipy_s_bootstrap(cloud):
    # Hesterberg 2015: 95 % of 20 points are between the percentiles of this level.
    expanded = 1 - 2 * stats.norm.cdf((20 / 19) ** 0.5 * stats.t.ppf(0.025, 19))
    assert 0.965 < expanded < 0.97
    found = correlate(*cloud, resamples=20_000)
    theirs = stats.bootstrap(
        cloud,
        lambda x, y, axis: stats.pearsonr(x, y, axis=axis).statistic,
        paired=True,
        method="percentile",
        confidence_level=expanded,
        n_resamples=20_000,
        rng=np.random.default_rng(9),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)


@pytest.mark.parametrize("points", [8, 14])
def test_the_interval_of_few_points_misses_no_more_than_it_says(points):
    rng = np.random.default_rng(points)
    trials = 400
    clouds = rng.normal(size=(trials, 2, points))
    found = [correlate(*cloud, resamples=1000) for cloud in clouds]
    missed = sum(each.low * each.high > 0 for each in found)
    # Between plain percentiles 38 would be missed on average.
    assert missed <= stats.binom.isf(0.01, trials, 0.055)


def test_a_line_is_certain():
    x = np.arange(6.0)
    assert correlate(x, 3 - 2 * x)[:4] == pytest.approx((-1, -1, -1, -1))


def test_equal_ranks_share_their_mean():
    assert correlate([1, 1, 2, 3], [1, 1, 2, 9]).spearman == pytest.approx(1)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8])
def test_what_never_varies_has_no_correlation(constant):
    found = correlate([constant] * 7, range(7))
    assert all(map(math.isnan, found[:4]))


def test_neither_scale_nor_origin_matters(cloud):
    x, y = cloud
    assert correlate(1e6 * x + 5, 1e-6 * y) == pytest.approx(correlate(x, y))


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 2, 3], [1, 2, 3, 4])])
def test_too_few_points_are_one_line(x, y):
    with pytest.raises(UserError, match=f"{len(x)} and {len(y)} numbers; allowed: equally many"):
        correlate(x, y)

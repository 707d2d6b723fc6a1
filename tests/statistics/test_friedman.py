"""Friedman and Nemenyi against scipy, published critical values and the printed tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.friedman import apart_by_ranks, critical_difference, friedman, groups
from dmlbench.statistics.printed import as_scores, read_printed
from dmlbench.statistics.tournament import ranks
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"

# Demšar 2006, table 5a: critical values of the two-tailed Nemenyi test for 2 to 10 classifiers.
NEMENYI = {
    0.95: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.90: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


def ranked(values):
    """Ranks of methods (rows) in experiments (columns), the highest value first."""
    return pd.DataFrame(stats.rankdata(-np.asarray(values, float), axis=0))


@settings(max_examples=80, deadline=None)
@given(st.integers(3, 7), st.integers(2, 13), st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_chi_square_is_scipys_ties_included(methods, experiments, distinct, seed):
    values = np.random.default_rng(seed).integers(0, distinct, (methods, experiments))
    assume((values != values[0]).any())
    found = friedman(ranked(values))
    # scipy takes the lowest value as rank 1; the test is the same either way.
    wanted = stats.friedmanchisquare(*values)
    assert found.chi_square == pytest.approx(wanted.statistic, abs=1e-9)
    if experiments > 10:
        assert found.p_value == pytest.approx(wanted.pvalue, abs=1e-12)


def test_chi_square_by_hand():
    # Ranks 1 2 3, 1 2 3, 2 1 3.
    found = friedman(ranked([[3, 3, 2], [2, 2, 3], [1, 1, 1]]))
    assert found.chi_square == pytest.approx(14 / 3)


def test_full_agreement_full_ties_and_one_experiment():
    agreed = friedman(ranked([[3] * 4, [2] * 4, [1] * 4]))
    assert agreed.chi_square == pytest.approx(8)
    assert np.isnan(friedman(ranked(np.ones((3, 4))))).all()
    assert np.isnan(friedman(ranked([[3], [2], [1]]))).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trials", "shape"),
    [
        (2000, (5, 20)),
        # The chi-square distribution would reject one in 1,700 of these.
        (150, (10, 2)),
    ],
)
def test_the_test_keeps_its_level(trials, shape):
    samples = np.random.default_rng(0).normal(size=(trials, *shape))
    rejected = sum(friedman(ranked(values)).p_value < 0.05 for values in samples)
    low, high = stats.binom.interval(0.999, trials, 0.05)
    assert low <= rejected <= high


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        # Friedman 1937, exact: 3 methods in 3 experiments reach 6 in 1 of 36 cases and 14/3 in 7.
        (["abc", "abc", "abc"], 1 / 36),
        (["abc", "abc", "bac"], 7 / 36),
        (["abc", "abc"], 1 / 6),
        (["abcd", "abcd"], 1 / 24),
        (["abcd", "abdc"], 4 / 24),
    ],
)
def test_few_experiments_have_the_exact_probability(columns, wanted):
    table = pd.DataFrame(
        {i: pd.Series(range(1, len(c) + 1), list(c)) for i, c in enumerate(columns)}
    )
    assert friedman(table).p_value == pytest.approx(wanted)


def test_random_arrangements_have_nearly_the_exact_probability(monkeypatch):
    table = ranked([[3, 3, 2], [2, 2, 3], [1, 1, 1]])
    exact = friedman(table).p_value
    monkeypatch.setattr("dmlbench.statistics.friedman._ALL", 0)
    assert friedman(table).p_value != exact
    # Five standard errors of a share of 100,000.
    assert friedman(table).p_value == pytest.approx(exact, abs=5 * (exact / 100_000) ** 0.5)


def test_ties_are_arranged_as_they_are():
    # Both experiments have a pair of equals: 3 x 3 cases, of which 3 agree fully.
    assert friedman(ranked([[2, 2], [1, 1], [1, 1]])).p_value == pytest.approx(1 / 3)


@pytest.mark.parametrize("level", NEMENYI)
def test_critical_values_are_the_published_ones(level):
    # With 6N = k(k + 1) the difference is the critical value itself.
    for methods, value in enumerate(NEMENYI[level], start=2):
        scale = (methods * (methods + 1) / 6) ** 0.5
        found = critical_difference(methods, 1, level=level) / scale
        # The published table is computed from rounded studentized ranges.
        assert found == pytest.approx(value, abs=1.1e-3)


def test_the_published_example():
    # Demšar 2006, section 3.2.5: four classifiers on 14 data sets.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, level=0.90) == pytest.approx(1.12, abs=0.005)
    averages = pd.Series({"C": 3.143, "C+m": 2.000, "C+cf": 2.893, "C+m+cf": 1.964})
    assert groups(averages, apart_by_ranks(averages, 1.25)) == [["C+m+cf", "C+m", "C+cf", "C"]]
    # At 10 % C4.5 without any tuning differs from the two that tune m.
    at_ten_percent = groups(averages, apart_by_ranks(averages, 1.12))
    assert at_ten_percent == [["C+m+cf", "C+m", "C+cf"], ["C+cf", "C"]]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1, 10), min_size=2, max_size=8), st.floats(0.1, 9))
def test_groups_hold_exactly_the_pairs_that_do_not_differ(averages, difference):
    series = pd.Series(averages, index=[f"m{i}" for i in range(len(averages))])
    found = groups(series, apart_by_ranks(series, difference))
    for one in series.index:
        for other in series.index.drop(one):
            together = any({one, other} <= set(group) for group in found)
            assert together == (abs(series[one] - series[other]) < difference)
    for group in found:
        assert not any(set(group) < set(other) for other in found)


def test_the_printed_tournament():
    printed = as_scores(read_printed(PSOMAS, ["06", "07", "08"]))
    table = ranks(
        printed,
        metric="recall_at_1",
        methods=sorted(printed.method.unique()),
        selection="best_test_epoch",
    )
    found = friedman(table)
    values = printed[printed.metric == "recall_at_1"].pivot_table(
        index="method", columns=["network", "embedding_dim"], values="value"
    )
    assert found.chi_square == pytest.approx(stats.friedmanchisquare(*values.to_numpy())[0])
    assert found.p_value < 1e-9
    difference = critical_difference(*table.shape)
    assert difference == pytest.approx(3.164 * (110 / 72) ** 0.5, abs=2e-3)
    # ProxyAnchor is first in all twelve, and yet not shown to be better than the next four.
    average = table.mean(axis="columns")
    best = groups(average, apart_by_ranks(average, difference))[0]
    assert best == [
        "proxy_anchor",
        "soft_triple",
        "multi_similarity",
        "contrastive",
        "lifted_structure",
    ]


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(UserError, match="1 methods; allowed: at least 2"):
        friedman(ranked([[1, 2, 3]]))
    with pytest.raises(UserError, match="at least 2"):
        critical_difference(1, 5)

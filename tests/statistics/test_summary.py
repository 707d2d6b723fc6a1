"""Means, spreads and intervals of scores, by hand and by scipy."""

import statistics

import pandas as pd
import pytest
from dmlbench.statistics.summary import half_width, in_units, of_rule, select, summarize
from scipy import stats

RECALL = [0.61, 0.59, 0.66]
RHO = [1.70, 1.10, float("inf")]


@pytest.fixture
def scores():
    """Three seeds of two metrics on test images, and scores that other rules and roles select."""
    rows = [
        ("test", "last_epoch", metric, seed, value)
        for metric, values in (("rho", RHO), ("recall_at_1", RECALL))
        for seed, value in enumerate(values)
    ]
    rows += [
        ("test", "best_test_epoch", "recall_at_1", 0, 0.9),
        ("train", "last_epoch", "recall_at_1", 0, 0.99),
        ("test", "none", "nmi", 0, 0.25),
    ]
    columns = ["role", "selection", "metric", "seed", "value"]
    return pd.DataFrame(rows, columns=columns)


def test_scores_of_a_rule_are_those_and_the_ones_without_any(scores):
    assert of_rule(scores, "last_epoch")["value"].tolist() == [*RHO, *RECALL, 0.25]
    assert of_rule(scores, "last_epoch", "train")["value"].tolist() == [0.99]
    assert of_rule(scores, "best_test_epoch")["value"].tolist() == [0.9, 0.25]


def test_percent_is_for_shares_alone(scores):
    found = select(scores, selection="last_epoch")["value"].tolist()
    assert found == pytest.approx([*RHO, 61, 59, 66, 25])
    some = select(scores, selection="last_epoch", metrics=["nmi", "rho"])
    assert some["value"].tolist() == [*RHO, 25]
    assert scores["value"].iloc[3] == 0.61


def test_no_scores_have_no_means(scores):
    none = select(scores, selection="last_epoch", metrics=["f1"])
    assert none.empty
    assert summarize(none, ["metric"]).empty
    assert in_units(scores.iloc[:0])["value"].dtype == float


def test_a_summary_is_by_hand(scores):
    found = summarize(select(scores, selection="last_epoch"), ["metric"]).set_index("metric")
    assert list(found.index) == ["rho", "recall_at_1", "nmi"]
    recall = found.loc["recall_at_1"]
    percent = [100 * value for value in RECALL]
    low, high = stats.t.interval(0.95, 2, statistics.mean(percent), stats.sem(percent))
    assert recall["mean"] == pytest.approx(statistics.mean(percent))
    assert recall["std"] == pytest.approx(statistics.stdev(percent))
    assert recall["seeds"] == 3
    assert recall["half"] == pytest.approx((high - low) / 2)
    assert found.loc["rho", "mean"] == float("inf")


def test_one_value_has_no_spread(scores):
    nmi = summarize(select(scores, selection="last_epoch"), ["metric"]).iloc[2]
    assert (nmi["mean"], nmi["seeds"]) == (25, 1)
    assert nmi[["std", "half"]].isna().all()


def test_the_interval_of_a_mean_is_students():
    percent = [100 * value for value in RECALL]
    std, count = statistics.stdev(percent), len(percent)
    t = stats.t(count - 1).ppf(0.975)
    assert half_width(std, count) == pytest.approx(t * std * (1 / 3) ** 0.5)

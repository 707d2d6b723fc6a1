"""Orders of methods: correlations, pairs in the right order, and docs/findings/orders.md."""

import csv
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.marked_text import read_marked
from hypothesis import given
from hypothesis import strategies as st
from project import REPOSITORY, script_of_docs
from scipy import stats

orders = script_of_docs("orders")
judged_pairs, mean_of_pairs = orders.judged_pairs, orders.mean_of_pairs
expected_right, power, rank_correlation = (
    orders.expected_right,
    orders.power,
    orders.rank_correlation,
)
REFERENCE = REPOSITORY / "config" / "reference"
SCORES = st.lists(st.integers(0, 30), min_size=4, max_size=9)


def series(values) -> pd.Series:
    return pd.Series(list(values), index=[f"loss_{n}" for n in range(len(values))], dtype=float)


def test_a_rank_correlation_is_that_of_scipy_in_any_order_of_the_methods():
    drawn = np.random.default_rng(3).integers(0, 9, (2, 12))  # with ties
    first, second = map(series, drawn)
    found = rank_correlation(first, second.sample(frac=1, random_state=1))
    assert found.value == pytest.approx(stats.spearmanr(*drawn).statistic)
    half = 1.96 * math.sqrt(1.06 / 9)
    assert math.atanh(found.high) - math.atanh(found.value) == pytest.approx(half, abs=1e-4)
    assert math.atanh(found.value) - math.atanh(found.low) == pytest.approx(half, abs=1e-4)
    assert found.number == 12
    assert rank_correlation(first, first)[:3] == pytest.approx((1, 1, 1))


def test_a_rank_correlation_is_of_the_same_methods():
    with pytest.raises(UserError, match="allowed: the same methods, 4 or more"):
        rank_correlation(series(range(5)), series(range(6)))
    with pytest.raises(UserError, match="4 or more"):
        rank_correlation(series(range(3)), series(range(3)))


@pytest.mark.parametrize(("correlation", "methods"), [(0.7, 8), (0.7, 10), (-0.5, 12)])
def test_power_is_how_often_scipys_correlation_is_beyond_its_bound(correlation, methods):
    bound = math.tanh(1.96 * math.sqrt(1.06 / (methods - 3)))
    covariance = [[1, correlation], [correlation, 1]]
    drawn = np.random.default_rng(5).multivariate_normal([0, 0], covariance, (2000, methods))
    beyond = [abs(stats.spearmanr(each).statistic) > bound for each in drawn]
    assert power(correlation, methods) == pytest.approx(np.mean(beyond), abs=0.04)


def test_power_is_the_level_where_nothing_correlates_and_grows():
    assert power(0.0, 20) == pytest.approx(0.05, abs=0.01)
    assert power(0.7, 8) < power(0.7, 10) < power(0.7, 20)
    assert power(0.7, 8) < power(0.9, 8)


@given(SCORES, st.data())
def test_pairs_are_judged_as_two_loops_do(target, data):
    size = len(target)
    guesses = st.one_of(st.none(), st.integers(0, 5))
    guess = data.draw(st.lists(guesses, min_size=size, max_size=size))
    expected = {}
    for one in range(size):
        for other in range(size):
            known = None not in (guess[one], guess[other]) and guess[one] != guess[other]
            if known and target[one] > target[other] + 3:
                expected[f"loss_{one}", f"loss_{other}"] = guess[one] > guess[other]
    pairs = judged_pairs(series(target), series(guess), apart=3, table="here")
    assert (pairs["table"] == "here").all()
    assert dict(
        zip(zip(pairs["one"], pairs["other"], strict=True), pairs["right"], strict=True)
    ) == (expected)
    opposite = judged_pairs(series(target), -series(guess), apart=3)
    assert (opposite["right"] == 1 - pairs["right"]).all()
    assert judged_pairs(series(target), series(target), apart=3)["right"].eq(1).all()


def test_a_table_that_is_printed_twice_is_no_news():
    """Pairs counted as independent would give an interval narrower by the root of ten."""
    drawn = np.random.default_rng(2).normal(size=(2, 10))
    once = judged_pairs(*map(series, drawn), apart=0.2)
    tenfold = pd.concat([once.assign(table=str(n)) for n in range(10)])
    assert mean_of_pairs(tenfold)[:3] == pytest.approx(mean_of_pairs(once)[:3])
    assert mean_of_pairs(tenfold).number == 10 * len(once)
    with pytest.raises(UserError, match="no pair of methods"):
        mean_of_pairs(once[:0])


def test_the_mean_of_a_difference_is_the_difference_of_means():
    drawn = np.random.default_rng(4).normal(size=(3, 12))
    target, first, second = map(series, drawn)
    pairs = judged_pairs(target, first, apart=0.1)
    other = judged_pairs(target, second, apart=0.1)["right"]
    found = mean_of_pairs(pairs.assign(less=pairs["right"] - other), "less")
    assert found.value == pytest.approx(pairs["right"].mean() - other.mean())
    assert found.low < found.value < found.high


def simulated(generator: np.random.Generator) -> pd.DataFrame:
    """Pairs of six tables, each with 12 of 18 losses, and of what predicts their quality."""
    quality, noise = generator.standard_normal((2, 18))
    predictor = series(0.6 * quality + 0.8 * noise)
    tables = []
    for table in range(6):
        target = series(0.8 * quality + 0.6 * generator.standard_normal(18))
        kept = target.sample(12, random_state=generator)
        tables.append(judged_pairs(kept, predictor, apart=0.4, table=str(table)))
    return pd.concat(tables)


@pytest.mark.slow
def test_an_interval_holds_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(1)
    # Two losses drawn a million times: the share that the tables' shares scatter around.
    quality, noise, own = generator.standard_normal((3, 2, 1_000_000))
    gap = np.subtract(*(0.8 * quality + 0.6 * own))
    truth = (gap * np.subtract(*(0.6 * quality + 0.8 * noise)) > 0)[abs(gap) > 0.4].mean()
    drawn = [mean_of_pairs(simulated(generator), resamples=500) for _ in range(300)]
    held = np.mean([each.low <= truth <= each.high for each in drawn])
    assert 0.92 <= held <= 0.98
    # As if the pairs were independent:
    halves = [1.96 * math.sqrt(each.value * (1 - each.value) / each.number) for each in drawn]
    naive = [abs(e.value - truth) <= half for e, half in zip(drawn, halves, strict=True)]
    assert np.mean(naive) < 0.75


def test_what_a_predictor_of_the_true_order_reaches():
    target, errors = series([50, 53, 51.5, 50.4]), series([0.5, 1, 0.3, 2])
    drawn = np.random.default_rng(6).normal(target, errors, (40_000, 4))
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]  # not (0, 3), which is 0.4 apart
    right = [
        ((drawn[:, i] - drawn[:, j]) * (target.iloc[i] - target.iloc[j]) > 0).mean()
        for i, j in pairs
    ]
    found = expected_right(target, errors, apart=1)
    assert list(found) == pytest.approx(right, abs=0.01)
    assert list(expected_right(target, errors / 1e6, apart=1)) == pytest.approx([1] * 5)


@pytest.fixture(scope="module")
def from_orders():
    return script_of_docs("from_orders")


def test_the_page_says_what_the_orders_give(from_orders):
    written = read_marked(from_orders.PAGE, "from_orders")
    assert written == from_orders.text(), "scores or printed numbers changed: `make findings`"


@pytest.mark.parametrize(
    ("paper", "data", "place", "metric", "split"),
    [
        ("psomas2020", "birds", "cub200", "recall_at_1", "test"),
        ("psomas2020", "cars", "cars196", "recall_at_1", "test"),
        ("musgrave2020", "cars", "cars196", "precision_at_1", "concatenated_512"),
        ("roth2020", "birds", "cub200", "recall_at_1", "test"),
    ],
)
def test_pairs_of_a_paper_counted_from_the_files(from_orders, paper, data, place, metric, split):
    """The mean of each loss and the pairs that heads order alike, without the library."""
    cells = {}
    for table in from_orders.TABLES[paper][data]:
        with (REFERENCE / paper / f"table_{table}.csv").open() as file:
            for row in csv.DictReader(file):
                wanted = (row["dataset"], row["metric"], row["split"]) == (place, metric, split)
                if wanted and "rho" not in row["variant"] and row["method"] != "pretrained":
                    cells.setdefault(row["method"], []).append(float(row["value"]))
    print_ = {method: sum(values) / len(values) for method, values in cells.items()}
    ours = pd.read_parquet(REPOSITORY / f"results/published/{paper}_{data}/scores.parquet")
    ours = ours[(ours["metric"] == "recall_at_1") & (ours["role"] == "test")]
    ours = ours[(ours["variant"] == "tuned") & (ours["selection"] == "last_epoch")]
    heads = {method: own["value"].mean() for method, own in ours.groupby("method")}
    if paper == "musgrave2020":
        heads["multi_similarity"] = heads["multi_similarity_without_miner"]
    apart = [
        (one, other)
        for one, other in itertools.permutations(print_, 2)
        if print_[one] - print_[other] > 1
    ]
    right = sum(heads[one] > heads[other] for one, other in apart)
    line = f"| {paper}, {data} | {right} of {len(apart)} |"
    assert line in read_marked(from_orders.PAGE, "from_orders")

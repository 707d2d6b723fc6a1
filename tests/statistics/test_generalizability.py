"""Components and correlations of crossed scores: by mean squares, by SciPy, by simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from crossed_orders import drawn
from dmlbench.errors import UserError
from dmlbench.statistics import generalizability
from dmlbench.statistics.generalizability import AHEAD, INTERACTIONS, agreements, by_run, shares
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

COMPONENTS = {
    "loss": 2.0,
    "with_network": 0.6,
    "with_dataset": 1.0,
    "with_both": 0.4,
    "with_classes": 0.8,
    "rest": 0.5,
}
"""Source -> its variance."""


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(generalizability, "_DRAWS", 200)


def crossed(seed, components=COMPONENTS, **sizes):
    return drawn(np.random.default_rng(seed), components, **sizes)


def by_mean_squares(table, networks, datasets, splits):
    """Components of a balanced analysis of variance, losses by networks by splits in data sets."""
    cube = table.to_numpy().reshape(len(table), networks, datasets, splits)
    losses = len(table)
    cube = cube - cube.mean(0)

    def square(effect, free):
        return float((np.broadcast_to(effect, cube.shape) ** 2).sum()) / ((losses - 1) * free)

    loss = cube.mean((1, 2, 3), keepdims=True)
    network, data = cube.mean((2, 3), keepdims=True), cube.mean((1, 3), keepdims=True)
    cell, classes = cube.mean(3, keepdims=True), cube.mean(1, keepdims=True)
    of = {
        "loss": square(loss, 1),
        "network": square(network - loss, networks - 1),
        "data": square(data - loss, datasets - 1),
        "cell": square(cell - network - data + loss, (networks - 1) * (datasets - 1)),
        "classes": square(classes - data, datasets * (splits - 1)),
        "rest": square(cube - cell - classes + data, (networks - 1) * datasets * (splits - 1)),
    }
    return {
        "loss": (of["loss"] - of["network"] - of["data"] + of["cell"])
        / (networks * datasets * splits),
        "with_network": (of["network"] - of["cell"]) / (datasets * splits),
        "with_dataset": (of["data"] - of["cell"] - of["classes"] + of["rest"])
        / (networks * splits),
        "with_both": (of["cell"] - of["rest"]) / splits,
        "with_classes": (of["classes"] - of["rest"]) / networks,
        "rest": of["rest"],
    }


@pytest.mark.parametrize("sizes", [(2, 3, 2), (3, 2, 4)])
def test_components_are_those_of_the_mean_squares(sizes, few_draws):
    table = by_run(crossed(0, **dict(zip(("networks", "datasets", "splits"), sizes, strict=True))))
    expected = by_mean_squares(table, *sizes)
    total = sum(expected.values())
    found = shares(table, scaled=False)
    for source, variance in expected.items():
        assert found[source].share == pytest.approx(variance / total)
        assert found[source].deviation == pytest.approx(max(variance, 0) ** 0.5)
    interactions = sum(expected[f"with_{each}"] for each in ("network", "dataset", "both"))
    assert found[INTERACTIONS].share == pytest.approx(interactions / total)
    assert found[AHEAD].share == pytest.approx((expected["loss"] - interactions) / total)


def test_many_losses_have_the_components_that_they_were_drawn_with(few_draws):
    table = by_run(crossed(1, losses=400, networks=4, datasets=5))
    total = sum(COMPONENTS.values())
    for source, variance in COMPONENTS.items():
        assert shares(table, scaled=False)[source].share == pytest.approx(
            variance / total, abs=0.06
        )


@settings(max_examples=10, deadline=None)
@given(number=st.integers(0, 1000), scaled=st.booleans())
def test_shares_add_up_and_neither_order_nor_means_nor_unit_changes_them(number, scaled):
    random = np.random.default_rng(number)
    table = by_run(drawn(random, COMPONENTS, losses=5))
    found = shares(table, scaled=scaled)
    assert sum(found[source].share for source in COMPONENTS) == pytest.approx(1)
    other = table.sample(frac=1, random_state=number) * 0.01 + random.normal(size=table.shape[1])
    for source, share in shares(other, scaled=scaled).items():
        assert share[:3] == pytest.approx(found[source][:3])


def test_scaled_runs_count_alike(few_draws):
    table = by_run(crossed(2))
    stretched = table * np.linspace(1, 30, table.shape[1])
    expected = shares(table, scaled=True)
    for source, share in shares(stretched, scaled=True).items():
        assert share.share == pytest.approx(expected[source].share)
    assert shares(stretched, scaled=False)["loss"].share != pytest.approx(expected["loss"].share)


def test_correlations_are_those_of_scipy_pair_by_pair(few_draws):
    table = by_run(crossed(3))
    pairs = {}
    for one, other in itertools.combinations(table, 2):
        network, dataset, split = (a == b for a, b in zip(one, other, strict=True))
        common = {
            (True, True): "cell",
            (False, True): "classes" if split else "dataset",
            (True, False): "network",
            (False, False): "neither",
        }[network, dataset]
        both = table[one], table[other]
        found = stats.pearsonr(*both).statistic, stats.spearmanr(*both).statistic
        pairs.setdefault(common, []).append(found)
    found = agreements(table)
    assert set(found) == set(pairs)
    ceiling = np.mean([pearson for pearson, _ in pairs["cell"]])
    for common, of_pairs in pairs.items():
        pearson, spearman = np.transpose(of_pairs)
        assert found[common].pearson.value == pytest.approx(pearson.mean())
        assert found[common].spearman.value == pytest.approx(spearman.mean())
        assert found[common].below.value == pytest.approx(ceiling - pearson.mean())
        assert found[common].lowest == pytest.approx(pearson.min())
        assert found[common].highest == pytest.approx(pearson.max())
        assert found[common].pearson.number == len(of_pairs)


def test_one_split_has_no_ceiling(few_draws):
    found = agreements(by_run(crossed(4, splits=1)))
    assert set(found) == {"classes", "network", "neither"}
    assert np.isnan(found["neither"].below.value)


def test_seeds_are_averaged_first():
    scores = crossed(5)
    twice = [scores.assign(seed=seed, value=scores["value"] + 2 * seed - 1) for seed in (0, 1)]
    both = by_run(pd.concat(twice))
    np.testing.assert_allclose(both, by_run(scores))


def test_what_cannot_be_compared_is_refused():
    scores = crossed(6)
    with pytest.raises(UserError, match="n0/d0/s0 has no score of m0"):
        by_run(scores.iloc[1:])
    with pytest.raises(UserError, match="several values of variant"):
        by_run(scores.assign(variant=scores.index.astype(str)).replace({"split": {"s1": "s0"}}))
    with pytest.raises(UserError, match="2 losses; allowed: 3 or more"):
        by_run(scores[scores["method"].isin(["m0", "m1"])])
    for column, said in (("network", "1 networks"), ("dataset", "1 data sets"), ("split", "1 spl")):
        first = scores[scores[column] == scores[column].iloc[0]]
        with pytest.raises(UserError, match=said):
            shares(by_run(first), scaled=False)

"""Clustering against scikit-learn, counted pairs, and musgrave2020's statements on NMI."""

import itertools

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate
from dmlbench.evaluation.clustering import ami, cluster_scores, contingency, f1, nmi
from dmlbench.evaluation.kmeans import kmeans
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

partitions = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 12), min_size=n, max_size=n),
        st.lists(st.integers(0, 12), min_size=n, max_size=n),
    )
)


@settings(deadline=None, max_examples=150)
@given(partitions)
def test_agreement_is_that_of_scikit_learn_and_of_counting_pairs(partition):
    labels, assignment = map(np.array, partition)
    table = contingency(labels, assignment)
    assert nmi(table) == pytest.approx(normalized_mutual_info_score(labels, assignment), abs=1e-9)
    assert ami(table) == pytest.approx(adjusted_mutual_info_score(labels, assignment), abs=1e-7)
    pairs = list(itertools.combinations(range(len(labels)), 2))
    same = {p for p in pairs if labels[p[0]] == labels[p[1]]}
    together = {p for p in pairs if assignment[p[0]] == assignment[p[1]]}
    if same or together:
        both = len(same & together)
        precision = both / len(together) if together else 0
        recall = both / len(same) if same else 0
        expected = 2 * precision * recall / (precision + recall) if both else 0
        assert f1(table) == pytest.approx(expected)


@settings(deadline=None, max_examples=50)
@given(partitions, st.randoms(use_true_random=False))
def test_agreement_does_not_depend_on_cluster_names(partition, random):
    labels, assignment = map(np.array, partition)
    names = random.sample(range(100), 13)
    one = contingency(labels, assignment)
    other = contingency(labels, np.array(names)[assignment])
    for agreement in (nmi, ami, f1):
        assert agreement(one) == pytest.approx(agreement(other), abs=1e-9)


def test_a_perfect_clustering_scores_one():
    labels = np.arange(30) // 5
    table = contingency(labels, labels[::-1])
    assert (nmi(table), ami(table), f1(table)) == pytest.approx((1, 1, 1))


def test_nmi_of_a_random_clustering_is_that_of_musgrave2020_equation_7():
    """10,000 classes of 4, every cluster of 4 rows from 4 classes: 1 - log 4 / log 10,000."""
    row = np.arange(40_000)
    labels = row // 4
    clusters = (labels + 2_500 * (row % 4)) % 10_000
    table = contingency(labels, clusters)
    assert nmi(table) == pytest.approx(1 - np.log(4) / np.log(10_000))
    assert round(100 * nmi(table), 1) == 84.9
    assert abs(ami(table)) < 0.01
    assert f1(table) == 0


@pytest.mark.slow
def test_nmi_of_random_embeddings_grows_with_classes_as_in_musgrave2020_figure_2():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 64)).astype(np.float32)
    found = []
    for classes in (10, 100, 1000, 2500, 5000):
        y = rng.permutation(10_000) % classes
        names = ["nmi", "recall_at_1", "map_at_r", "r_precision"]
        found.append(evaluate(x, y, metrics=names).scores)
        chance = 1 / classes
        assert found[-1]["recall_at_1"] < 1.2 * chance + 0.001
        assert found[-1]["map_at_r"] <= found[-1]["r_precision"] < 1.2 * chance + 0.001
    nmis = [scores["nmi"] for scores in found]
    assert nmis == sorted(nmis)
    assert nmis[0] < 0.05
    assert nmis[-1] > 0.85


def clouds(clusters, each, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(clusters), each)
    return (10 * rng.normal(size=(clusters, dim))[y] + rng.normal(size=(len(y), dim))), y


@pytest.mark.parametrize(("clusters", "each"), [(4, 50), (60, 5), (300, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_faiss_and_torch_cluster_alike(clusters, each, seed):
    x = clouds(clusters, each)[0].astype(np.float32)
    one, other = (kmeans(x, clusters, seed=seed, engine=engine) for engine in ("faiss", "torch"))
    np.testing.assert_array_equal(one.assignment, other.assignment)
    assert one.inertia == pytest.approx(other.inertia, rel=1e-4)


def test_looking_only_at_moved_centers_is_lloyds_algorithm():
    x = np.random.default_rng(3).normal(size=(400, 5))
    first = np.sort(np.random.default_rng(7).choice(400, 60, replace=False))
    centers = x[first]
    for _ in range(12):
        nearest = ((x[:, None] - centers) ** 2).sum(2).argmin(1)
        centers = np.stack([x[nearest == c].mean(0) for c in range(60)])
    nearest = ((x[:, None] - centers) ** 2).sum(2).argmin(1)
    found = kmeans(x, 60, seed=7, iterations=12, engine="torch")
    np.testing.assert_array_equal(found.assignment, nearest)


@pytest.mark.parametrize("engine", ["faiss", "torch"])
def test_a_seed_repeats_and_restarts_do_not_worsen(engine):
    x = clouds(20, 10)[0].astype(np.float32)
    once = kmeans(x, 20, seed=5, engine=engine)
    np.testing.assert_array_equal(once.assignment, kmeans(x, 20, seed=5, engine=engine).assignment)
    assert kmeans(x, 20, seed=5, restarts=6, engine=engine).inertia <= once.inertia


@pytest.mark.parametrize("engine", ["faiss", "torch"])
def test_identical_rows_leave_clusters_empty_without_harm(engine):
    x = np.ones((12, 3), np.float32)
    assert kmeans(x, 4, engine=engine).inertia == pytest.approx(0, abs=1e-3)


def test_scores_are_a_mean_over_seeds_with_their_spread():
    x, y = clouds(12, 6, dim=3)
    result = evaluate(x, y, metrics=["nmi", "f1"], seeds=(0, 1, 2))
    assert result.per_seed["nmi"].shape == (3,)
    assert result.scores["nmi"] == pytest.approx(result.per_seed["nmi"].mean())
    assert result.per_seed["f1"].std() > 0
    alone = cluster_scores(x.astype(np.float32), y, ["nmi"], seeds=(4,))
    assert alone["nmi"].shape == (1,)


def test_restarts_are_at_least_one():
    with pytest.raises(UserError, match="restarts: 0; allowed: a whole number of at least 1"):
        kmeans(np.zeros((5, 2), np.float32), 2, restarts=0)

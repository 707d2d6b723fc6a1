"""Experiments that only score points: against scikit-learn and what can be counted by hand."""

import math

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.experiments import build_experiment
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors


def values(outcome, **where):
    table = outcome.table
    for column, value in where.items():
        table = table[table[column] == value]
    return dict(zip(table.metric, table.value, strict=True))


def ranked_hits(points, labels):
    """Whether the k-th neighbor has the query's class: bool [N, N - 1], queries left out."""
    search = NearestNeighbors(n_neighbors=len(points), algorithm="brute").fit(points)
    order = search.kneighbors(points, return_distance=False)
    own = np.arange(len(points))[:, None]
    others = order[order != own].reshape(len(points), -1)
    return labels[others] == labels[:, None]


def retrieval(points, labels):
    hits = ranked_hits(points, labels)
    found = {f"recall_at_{k}": hits[:, :k].any(1).mean() for k in (1, 2, 4, 8)}
    found |= {f"precision_at_{k}": hits[:, :k].mean() for k in (2, 4, 8)}
    relevant = (labels[:, None] == labels).sum(1) - 1
    until_r = [row[:r] for row, r in zip(hits, relevant, strict=True)]
    precisions = [row.cumsum() / np.arange(1, len(row) + 1) for row in until_r]
    found["r_precision"] = np.mean([row.mean() for row in until_r])
    found["map_at_r"] = np.mean([(p * h).mean() for p, h in zip(precisions, until_r, strict=True)])
    return found


def test_gaussian_classes_have_the_described_shape_and_scores():
    outcome = build_experiment("gaussian_classes", classes=8, training_classes=5, samples=25).run(0)
    points, labels = outcome.arrays["points"], outcome.arrays["labels"]
    assert points.shape == (200, 3)
    assert np.bincount(labels).tolist() == [25] * 8
    train = labels < 5
    expected = retrieval(points[train], labels[train])
    assert values(outcome, variant="") == pytest.approx(expected)
    assert values(outcome, variant="classes=8") == pytest.approx(retrieval(points, labels))


@pytest.mark.slow
def test_gaussian_classes_spread_as_described():
    arrays = build_experiment("gaussian_classes", samples=400).run(1).arrays
    classes = arrays["points"].reshape(32, 400, 3)
    means = classes.mean(axis=1)
    assert classes.var(axis=1, ddof=1).mean() == pytest.approx(0.02, rel=0.03)
    assert -0.05 < means.min() < 0.2
    assert 0.8 < means.max() < 1.05


def test_equation_7_gives_the_printed_nmi():
    from dmlbench.experiments.random_embeddings import shuffled_nmi

    assert f"{100 * shuffled_nmi(10_000, 4):.1f}" == "84.9"


@pytest.mark.parametrize(("classes", "per_class"), [(6, 3), (6, 6), (12, 4)])
def test_equation_7_is_the_nmi_of_clusters_that_share_no_class(classes, per_class):
    """Cluster c holds one image of each of the classes c, c + 1, ..., c + S - 1, modulo C."""
    from dmlbench.experiments.random_embeddings import shuffled_nmi

    clusters = np.repeat(np.arange(classes), per_class)
    labels = (clusters + np.tile(np.arange(per_class), classes)) % classes
    expected = normalized_mutual_info_score(labels, clusters)
    assert shuffled_nmi(classes, per_class) == pytest.approx(expected)


def test_random_embeddings_score_at_chance_and_nmi_grows():
    experiment = build_experiment(
        "random_embeddings", points=1000, embedding_dim=16, classes=[4, 50, 500]
    )
    found = [
        values(experiment.run(0), method="random", variant=f"classes={n}") for n in (4, 50, 500)
    ]
    for scores, size in zip(found, (250, 20, 2), strict=True):
        chance = (size - 1) / 999
        deviation = math.sqrt(chance / 1000)
        assert scores["recall_at_1"] == pytest.approx(chance, abs=5 * deviation)
        assert scores["r_precision"] == pytest.approx(chance, abs=5 * deviation)
        assert abs(scores["ami"]) < 0.05
    nmi = [scores["nmi"] for scores in found]
    assert nmi[0] < 0.05 < 0.2 < nmi[1] < 0.6 < nmi[2]


def test_classes_are_of_one_size_and_the_closed_form_is_given_where_it_holds():
    table = build_experiment("random_embeddings", points=100, classes=[5, 10, 50]).run(0).table
    closed = table[table.method == "closed_form"]
    assert dict(zip(closed.variant, closed.value, strict=True)) == pytest.approx(
        {"classes=10": 0.0, "classes=50": 1 - math.log(2) / math.log(50)}
    )


def test_more_classes_than_pairs_of_points_are_refused():
    with pytest.raises(UserError, match="allowed: 2 to 50"):
        build_experiment("random_embeddings", points=100, classes=[51])


@pytest.mark.parametrize("seed", range(3))
def test_toy_spaces_share_recall_and_clustering_and_differ_in_ranking(seed):
    outcome = build_experiment("toy_spaces").run(seed)
    found = {m: values(outcome, method=m) for m in ("interleaved", "adjacent", "separate")}
    assert all(scores["recall_at_1"] > 0.99 for scores in found.values())
    assert all(scores["nmi"] < 0.02 for scores in found.values())
    assert np.ptp([scores["f1"] for scores in found.values()]) < 0.02
    for metric in ("r_precision", "map_at_r"):
        rising = [found[name][metric] for name in ("interleaved", "adjacent", "separate")]
        assert (np.diff(rising) > 0.04).all()


@pytest.mark.parametrize("name", ["interleaved", "adjacent", "separate"])
def test_toy_spaces_are_scored_by_euclidean_distance(name):
    outcome = build_experiment("toy_spaces", samples=60).run(0)
    points, labels = outcome.arrays[f"points_{name}"], outcome.arrays["labels"]
    assert points.shape == (120, 2)
    expected = retrieval(points, labels)
    found = values(outcome, method=name)
    for metric in ("recall_at_1", "r_precision", "map_at_r"):
        assert found[metric] == pytest.approx(expected[metric])
    clusters = KMeans(2, n_init=10, random_state=0).fit_predict(points)
    assert normalized_mutual_info_score(labels, clusters) < 0.02

"""Embeddings close together, for their norms, rank by their distances; or a warning says no."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from dmlbench.evaluation import evaluate, score

METRICS = ["recall_at_1", "r_precision", "map_at_r", "mrr"]


def classes(noise=0.7, dim=16, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(300) // 5
    return rng.normal(size=(60, dim))[y] + noise * rng.normal(size=(300, dim)), y, rng


def expected(x, y, gallery=None, gallery_y=None):
    """Scores by sorting float64 distances; the rows are near the origin, so that they are exact."""
    own = gallery is None
    gallery, gallery_y = (x, y) if own else (gallery, gallery_y)
    found = []
    for row in range(len(x)):
        order = np.argsort(((gallery - x[row]) ** 2).sum(1), kind="stable")
        hits = (gallery_y == y[row])[order[order != row] if own else order]
        places, positives = np.flatnonzero(hits) + 1, int(hits.sum())
        precision = np.arange(1, positives + 1) / places
        inside = places <= positives
        found.append((hits[0], inside.mean(), (precision * inside).mean(), 1 / places[0]))
    return dict(zip(METRICS, np.mean(found, axis=0), strict=True))


def directions(around, x):
    """x seen from afar: the differences of unit vectors around a direction, in float64."""
    unit = around / np.linalg.norm(around)
    across = x - (x @ unit)[:, None] * unit
    norm = np.sqrt(1 + (across**2).sum(1, keepdims=True))
    return unit + across, across / norm + unit * (1 / norm - 1)


@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-5, 1e-7])
def test_nearly_parallel_rows_rank_by_their_angles(size):
    x, y, rng = classes()
    rows, near_origin = directions(rng.normal(size=16), size * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score(rows, y, metrics=METRICS)
        in_gallery = score(
            rows[:100], y[:100], gallery=rows[100:], gallery_labels=y[100:] % 20, metrics=METRICS
        )
    assert found == pytest.approx(expected(near_origin, y))
    assert in_gallery == pytest.approx(
        expected(near_origin[:100], y[:100], near_origin[100:], y[100:] % 20)
    )


@pytest.mark.parametrize("offset", [0, 100, 1e4, 1e6])
def test_rows_far_from_the_origin_rank_by_their_distances(offset):
    x, y, _ = classes()
    x = np.rint(x * 2**12) / 2**12  # so that adding the offset rounds nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score(x + offset, y, metrics=METRICS, distance="euclidean")
    assert found == pytest.approx(expected(x, y))


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_equal_distances_stay_ties_far_from_the_origin(distance):
    """Rows on a lattice, and many directions twice: the ties that integers have, and no others."""
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 4, (40, 3))
    y = rng.integers(0, 5, 40)
    if distance == "cosine":
        rows = np.repeat((1000 + x[:20]).astype(float), 2, axis=0) * rng.uniform(1, 9, (40, 1))
        whole = np.repeat(1000 + x[:20], 2, axis=0)
    else:
        rows, whole = x + 5000.0, x
    places = []
    for row in range(40):
        near = [_nearness(whole[row], other, distance) for other in whole]
        order = sorted(set(range(40)) - {row}, key=lambda other: (-near[other], other))
        hits = np.flatnonzero(y[order] == y[row])
        if len(hits):
            places.append(hits[0] + 1)
    found = evaluate(rows, y, metrics=["mrr"], distance=distance)
    assert found.scores["mrr"] == pytest.approx(np.mean(1 / np.array(places)))
    assert found.tied


def _nearness(a, b, distance):
    a, b = a.tolist(), b.tolist()
    if distance == "euclidean":
        return -sum((i - j) ** 2 for i, j in zip(a, b, strict=True))
    inner = sum(i * j for i, j in zip(a, b, strict=True))  # positive: the squares compare alike
    return Fraction(inner**2, sum(i * i for i in a) * sum(j * j for j in b))


@pytest.mark.parametrize("huge", [1e8, 1e30])
def test_a_row_so_long_that_the_others_lose_their_ranks_is_reported(huge):
    x, y, _ = classes()
    x, y = np.vstack([x, np.full((1, 16), huge)]), np.append(y, -1)
    with pytest.warns(UserWarning, match="typically .* of the largest norm apart"):
        found = score(x, y, metrics=METRICS, distance="euclidean")
    assert abs(found["recall_at_1"] - expected(x[:-1], y[:-1])["recall_at_1"]) > 0.05


def test_a_long_row_that_costs_no_ranks_is_not_reported():
    x, y, _ = classes()
    x, y = np.vstack([x, np.full((1, 16), 1e3)]), np.append(y, -1)
    found = evaluate(x, y, metrics=METRICS, distance="euclidean")
    assert found.unresolved is None
    assert found.scores == pytest.approx(expected(x[:-1], y[:-1]))


def test_equal_rows_are_ties_and_not_too_close():
    found = evaluate(np.ones((20, 4)), np.arange(20) % 4, metrics=["mrr"])
    assert found.unresolved is None
    assert found.tied


def test_clusters_and_structure_are_of_the_rows_as_given():
    x, y, _ = classes()
    names = ["pi_intra", "pi_ratio", "rho", "nmi"]
    rows, _ = directions(np.ones(16), 1e-3 * x)
    alone = score(rows, y, metrics=names)
    both = score(rows, y, metrics=["recall_at_1", *names])
    assert {name: both[name] for name in names} == alone
    assert 0 < alone["pi_intra"] < 0.1

"""Ranks of candidates that faiss finds are those of sorting in exact integers, and of tiles."""

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate, faiss_ranks
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked_spaces import draw, expected_ranks, find, spaces


@pytest.fixture(autouse=True)
def shallow(monkeypatch):
    """Searches that must be repeated, deeper."""
    monkeypatch.setattr(faiss_ranks, "_SPARE", 1)


@settings(deadline=None, max_examples=60)
@given(spaces, st.sampled_from([["recall_at_1"], ["mrr"], ["map_at_r", "recall_at_10"]]))
def test_ranks_within_one_set_are_those_of_sorting(case, metrics):
    rng = np.random.default_rng(case["seed"])
    x = draw(rng, case["points"], case["dim"], case["values"])
    y = rng.integers(0, case["classes"], case["points"])
    y[1] = y[0]
    given_ = {"ids": rng.permutation(case["points"]), "distance": case["distance"]}
    rows, rank = expected_ranks(x, y, **given_)
    same(find(x, y, neighbors="faiss", metrics=metrics, **given_), rows, rank)
    same(find(x, y, neighbors="tiles", metrics=metrics, **given_), rows, rank)
    every = find(x, y, neighbors="faiss", **given_)
    np.testing.assert_array_equal(every.ranks.rank, rank)


def same(found, rows, rank):
    """The rows, and every rank that the metrics use."""
    np.testing.assert_array_equal(found.row, rows)
    kept = found.ranks.rank < np.iinfo(np.int64).max
    assert kept.any() or (rank[found.ranks.start[:-1]] > 1).all()
    np.testing.assert_array_equal(found.ranks.rank[kept], rank[kept])


@settings(deadline=None, max_examples=40)
@given(spaces)
def test_ranks_in_a_gallery_are_those_of_sorting(case):
    rng = np.random.default_rng(case["seed"])
    dim, values, distance = case["dim"], case["values"], case["distance"]
    q, g = draw(rng, 23, dim, values), draw(rng, case["points"], dim, values)
    qy, gy = rng.integers(0, case["classes"], 23), rng.integers(0, case["classes"], case["points"])
    gy[0] = qy[0]
    ids = rng.permutation(case["points"])
    found = find(
        q, qy, neighbors="faiss", gallery=g, gallery_labels=gy, gallery_ids=ids, distance=distance
    )
    rows, rank = expected_ranks(q, qy, g, gy, ids=ids, distance=distance)
    np.testing.assert_array_equal(found.row, rows)
    np.testing.assert_array_equal(found.ranks.rank, rank)


METRICS = ["recall_at_1", "recall_at_8", "map_at_r", "map_at_c", "mrr"]


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("values", ["normal", "ties", "close"])
@pytest.mark.filterwarnings("ignore")
def test_scores_and_what_ties_may_change_are_those_of_tiles(values, distance):
    rng = np.random.default_rng(7)
    x, y = draw(rng, 400, 12, values), rng.integers(0, 40, 400)
    one, other = (
        evaluate(x, y, metrics=METRICS, distance=distance, neighbors=neighbors)
        for neighbors in ("faiss", "tiles")
    )
    assert one.scores == other.scores
    assert one.tied == other.tied
    for name in METRICS:
        np.testing.assert_array_equal(one.per_query[name], other.per_query[name])


def test_an_unknown_way_is_one_line():
    with pytest.raises(UserError, match=r"^neighbors 'annoy'; allowed: tiles, faiss$"):
        evaluate(np.eye(4), [0, 0, 1, 1], metrics=["mrr"], neighbors="annoy")

"""Whole rows of a matrix against the tiled search, and the ties that they report."""

import sys

import numpy as np
import pytest
from dmlbench.evaluation import full_matrix, ranks
from dmlbench.evaluation.inputs import read_space
from dmlbench.evaluation.retrieval import per_query
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked_spaces import PRECISIONS, draw, expected_ranks, find, make_tiles_small, spaces


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    make_tiles_small(monkeypatch)


REACHES = [["recall_at_1"], ["mrr"], ["recall_at_50", "map_at_r"], ["precision_at_4"]]


@settings(deadline=None, max_examples=60)
@given(spaces, st.sampled_from(REACHES), st.integers(0, 30))
def test_whole_rows_rank_as_tiles_do(case, metrics, queries):
    rng = np.random.default_rng(case["seed"])
    x = draw(rng, case["points"] + queries, case["dim"], case["values"])
    y = rng.integers(0, case["classes"], len(x))
    y[1] = y[0]
    given_ = {"distance": case["distance"], "metrics": metrics}
    if queries:
        given_ |= {"gallery": x[queries:], "gallery_labels": y[queries:]}
        x, y = x[:queries], y[:queries]
    whole, tiled = (find(x, y, precision=some, **given_) for some in ("auto", "float32"))
    np.testing.assert_array_equal(whole.row, tiled.row)
    np.testing.assert_array_equal(whole.ranks.rank, tiled.ranks.rank)
    np.testing.assert_array_equal(whole.ranks.start, tiled.ranks.start)
    assert (whole.best is None) == (tiled.best is None)


@settings(deadline=None, max_examples=80)
@given(spaces, st.sampled_from(REACHES), st.sampled_from(["auto", *PRECISIONS]))
def test_scores_that_depend_on_ties_are_reported_and_no_others(case, metrics, precision):
    """Also if the positive's rank by id is beyond the ranks of the metric."""
    rng = np.random.default_rng(case["seed"])
    x = draw(rng, case["points"], case["dim"], case["values"])
    y = rng.integers(0, case["classes"], case["points"])
    y[1] = y[0]
    found = find(x, y, precision=precision, metrics=metrics, distance=case["distance"])
    for positives_first, ours in ((True, found.best), (False, found.worst)):
        _, rank = expected_ranks(x, y, distance=case["distance"], positives_first=positives_first)
        other = found.ranks._replace(rank=rank)
        for name in metrics:
            np.testing.assert_array_equal(
                per_query(name, ours or found.ranks), per_query(name, other)
            )


@pytest.mark.parametrize(
    ("images", "dim", "memory", "before_torch", "after"),
    [
        (500, 64, 2**30, True, True),
        (5924, 512, 2**30, True, False),
        (5924, 512, 2**24, False, False),
        (60502, 64, 2**30, False, False),
    ],
)
def test_torch_is_not_loaded_where_whole_rows_are_faster(
    images, dim, memory, before_torch, after, monkeypatch
):
    x = np.broadcast_to(np.float32(1), (images, dim))
    space = read_space(x[:2], [0, 0])
    side = space.gallery._replace(vectors=x)
    space = space._replace(queries=side, gallery=side)
    assert full_matrix.is_small(space, memory) is after
    monkeypatch.delitem(sys.modules, "torch")
    assert full_matrix.is_small(space, memory) is before_torch


def test_whole_rows_in_blocks_rank_as_in_one(monkeypatch):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 9, 200)
    x = rng.normal(size=(200, 5))
    plain = find(x, y, precision="auto")
    monkeypatch.setattr(full_matrix, "_BLOCK", 700)
    np.testing.assert_array_equal(find(x, y, precision="auto").ranks.rank, plain.ranks.rank)


def test_whole_rows_see_every_tie():
    """A positive as near as a negative, at every depth that a metric may use."""
    x = np.array([[1, 0]] + [[0.9**n, 0.1 * n] for n in range(1, 8)] + [[0.9**4, -0.4]])
    y = np.array([0, 1, 2, 3, 0, 4, 5, 6, 7])
    for metrics in (["mrr"], ["recall_at_4"], ["precision_at_4"], ["precision_at_5"]):
        space = read_space(x, y)
        positives = (space.queries.classes == space.queries.classes[:, None]).sum(1) - 1
        limits = ranks._limits(metrics, positives, positives + 1)
        assert full_matrix.full_ranks(space, positives, *limits) is None


def test_whole_rows_see_a_tie_that_extends_beyond_the_ranks_of_a_metric():
    """Five positives and six negatives at one distance: the ids decide which are the first four."""
    found = find(np.ones((12, 1)), np.arange(12) // 6, precision="auto", metrics=["precision_at_4"])
    assert found.ranks.hits(4).tolist() == [4] * 6 + [0] * 6
    assert found.best.hits(4).tolist() == [4] * 12
    assert found.worst.hits(4).tolist() == [0] * 12

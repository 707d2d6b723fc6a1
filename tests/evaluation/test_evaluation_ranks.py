"""The tiled search against sorting in exact integers."""

import brute_force
import numpy as np
import pytest
import torch
from dmlbench.evaluation import board, products, walk
from dmlbench.evaluation.retrieval import FAR
from dmlbench.evaluation.scoring import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked_spaces import PRECISIONS, draw, expected_ranks, find, make_tiles_small, spaces


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    make_tiles_small(monkeypatch)


@settings(deadline=None, max_examples=60)
@given(spaces, st.sampled_from(PRECISIONS))
def test_ranks_within_one_set_are_those_of_sorting(case, precision):
    rng = np.random.default_rng(case["seed"])
    x = draw(rng, case["points"], case["dim"], case["values"])
    y = rng.integers(0, case["classes"], case["points"])
    y[1] = y[0]
    ids = rng.permutation(case["points"])
    distance = case["distance"]
    found = find(x, y, ids=ids, distance=distance, precision=precision)
    rows, rank = expected_ranks(x, y, ids=ids, distance=distance)
    np.testing.assert_array_equal(found.row, rows)
    np.testing.assert_array_equal(found.ranks.rank, rank)


@settings(deadline=None, max_examples=40)
@given(spaces, st.sampled_from(PRECISIONS))
def test_ranks_in_a_gallery_are_those_of_sorting(case, precision):
    rng = np.random.default_rng(case["seed"])
    dim, values, distance = case["dim"], case["values"], case["distance"]
    q, g = draw(rng, 23, dim, values), draw(rng, case["points"], dim, values)
    qy = rng.integers(0, case["classes"], 23)
    gy = rng.integers(0, case["classes"], case["points"])
    gy[0] = qy[0]
    ids = rng.permutation(case["points"])
    found = find(
        q, qy, gallery=g, gallery_labels=gy, gallery_ids=ids, distance=distance,
        precision=precision,
    )  # fmt: skip
    rows, rank = expected_ranks(q, qy, g, gy, ids=ids, distance=distance)
    np.testing.assert_array_equal(found.row, rows)
    np.testing.assert_array_equal(found.ranks.rank, rank)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    "metrics", [["recall_at_1"], ["r_precision"], ["recall_at_50", "map_at_r"]]
)
def test_positives_given_up_are_those_beyond_the_limit(precision, metrics):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(60), 5)
    x = rng.normal(size=(60, 8))[y] + 1.2 * rng.normal(size=(300, 8))
    found = find(x, y, precision=precision, metrics=metrics)
    _, rank = expected_ranks(x, y)
    limit = np.full(len(rank), 4 if metrics[-1] != "recall_at_1" else 0)
    limit[found.ranks.start[:-1]] = max(
        int(metrics[0].rpartition("_")[2]) if "recall" in metrics[0] else 0, limit[0]
    )
    kept = rank <= limit
    np.testing.assert_array_equal(found.ranks.rank[kept], rank[kept])
    assert (found.ranks.rank[~kept] == FAR).all()


@pytest.mark.parametrize("precision", ["int8", "bfloat16", "float32"])
def test_near_ties_below_the_precision_are_decided_exactly(precision, monkeypatch):
    """Similarities 2^-48 apart, orders of magnitude below the error of the product."""
    escalated = []
    recorded = _recording(board.Board._resolve_exactly, escalated)
    monkeypatch.setattr(board.Board, "_resolve_exactly", recorded)
    rng = np.random.default_rng(2)
    base = np.round(rng.normal(size=16) * 2**20) / 2**24
    x = np.tile(base, (400, 1))
    x[:, 0] += rng.permutation(400) * 2.0**-24
    x = np.concatenate([x, rng.normal(size=(3000, 16)) / 8])
    y = np.concatenate([np.arange(400) // 4, 1000 + np.arange(3000)])
    found = find(x, y, distance="euclidean", precision=precision, memory=2**22)
    assert len(found.row) == 400
    exact = find(x, y, distance="euclidean", precision="float64", memory=2**22)
    np.testing.assert_array_equal(found.ranks.rank, exact.ranks.rank)
    assert sum(escalated) > 0


def _recording(resolve, counts):
    def recorded(self, negatives, *places):
        counts.append(len(negatives.row))
        return resolve(self, negatives, *places)

    return recorded


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([2**15, 2**18, 2**22]))
def test_memory_and_precision_change_nothing(seed, memory):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 40, 500)
    x = rng.normal(size=(40, 6))[y] + rng.normal(size=(500, 6))
    plain = find(x, y, precision="float64", memory=2**24)
    for precision in PRECISIONS:
        found = find(x, y, precision=precision, memory=memory)
        np.testing.assert_array_equal(found.ranks.rank, plain.ranks.rank)


@settings(deadline=None, max_examples=40)
@given(spaces, st.sampled_from([*PRECISIONS, "auto"]), st.integers(1, 4))
def test_a_query_does_not_find_gallery_images_with_its_id(case, precision, images):
    """Some queries are in the gallery, some of them several times, with other embeddings or not."""
    rng = np.random.default_rng(case["seed"])
    g = draw(rng, case["points"], case["dim"], case["values"])
    gy = rng.integers(0, case["classes"], case["points"])
    ids = rng.integers(0, case["points"], case["points"])
    gy[:] = gy[np.unique(ids, return_index=True)[1]][np.unique(ids, return_inverse=True)[1]]
    of = rng.integers(0, case["points"], images * 5)
    q, qy, query_ids = g[of], gy[of], np.where(rng.random(len(of)) < 0.6, ids[of], 1000 + of)
    q[::3] = draw(rng, len(q[::3]), case["dim"], case["values"])
    distance = case["distance"]
    expected = list(
        brute_force.neighbors(q, qy, g, gy, ids=ids, distance=distance, query_ids=query_ids)
    )
    found = find(
        q, qy, gallery=g, gallery_labels=gy, ids=query_ids, gallery_ids=ids, distance=distance,
        precision=precision, metrics=["mrr", "precision_at_1000", "map_at_c"],
    )  # fmt: skip
    assert found.row.tolist() == [row for row, _, _ in expected]
    if expected:
        rank = np.concatenate([np.flatnonzero(hits) + 1 for _, _, hits in expected])
        assert found.ranks.rank.tolist() == rank.tolist()
        assert found.ranks.class_size.tolist() == [size for _, size, _ in expected]


@settings(deadline=None, max_examples=25)
@given(spaces)
def test_all_metrics_are_those_spelled_out(case):
    rng = np.random.default_rng(case["seed"])
    # Those that are close together are ranked about their mean: test_evaluation_closeness.py.
    x = draw(rng, case["points"], case["dim"], case["values"].replace("close", "normal"))
    y = rng.integers(0, case["classes"], case["points"])
    y[1] = y[0]
    result = evaluate(x, y, metrics=brute_force.METRICS, distance=case["distance"])
    expected = brute_force.scores(x, y, distance=case["distance"])
    assert result.scores == pytest.approx(expected, abs=1e-12)
    for name in brute_force.METRICS:
        low, high = result.tied.get(name, (result.scores[name],) * 2)
        assert low <= result.scores[name] + 1e-12
        assert result.scores[name] <= high + 1e-12


def test_a_tensor_and_an_array_score_alike():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(90, 5)).astype(np.float32), np.arange(90) % 9
    one = evaluate(x, y, metrics=["map_at_r", "mrr"])
    other = evaluate(
        torch.from_numpy(x).requires_grad_(), torch.from_numpy(y), metrics=["map_at_r", "mrr"]
    )
    assert one.scores == other.scores


@pytest.mark.parametrize("fastest", [torch.int8, torch.bfloat16, None])
def test_the_precision_chosen_by_speed_changes_nothing(fastest, monkeypatch):
    monkeypatch.setattr(walk, "_WORTH_ROUNDING", 0)
    monkeypatch.setattr(walk, "coarse_precision", lambda device: fastest)
    rng = np.random.default_rng(5)
    y = rng.integers(0, 200, 1500)
    x = rng.normal(size=(200, 24))[y] + rng.normal(size=(1500, 24))
    plain = find(x, y, precision="float64", memory=2**24)
    found = find(x, y, precision="auto", memory=2**18)
    np.testing.assert_array_equal(found.ranks.rank, plain.ranks.rank)


def test_queries_in_blocks_rank_as_in_one(monkeypatch):
    rng = np.random.default_rng(6)
    y = rng.integers(0, 4, 400)
    x = rng.normal(size=(400, 5))
    plain = find(x, y, precision="float32", memory=2**24)
    monkeypatch.setattr(walk, "_blocks", lambda *_: [(0, 100), (100, 101), (101, 400)])
    found = find(x, y, precision="float32", memory=2**20)
    np.testing.assert_array_equal(found.ranks.rank, plain.ranks.rank)
    np.testing.assert_array_equal(found.ranks.start, plain.ranks.start)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_tile_may_be_one_image_wide(precision):
    """25 images in tiles of 8: the last tile gives up positives by its own counts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(25, 2))
    y = rng.integers(0, 2, 25)
    found = find(x, y, precision=precision, metrics=["precision_at_4"])
    _, rank = expected_ranks(x, y)
    np.testing.assert_array_equal(found.ranks.hits(4), found.ranks._replace(rank=rank).hits(4))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_any_float_is_taken_as_it_is(dtype):
    rng = np.random.default_rng(7)
    y = np.arange(60) % 12
    x = torch.from_numpy(rng.normal(size=(60, 5))).to(dtype)
    found = find(x, y, precision="float32")
    rows, rank = expected_ranks(x.double().numpy(), y)
    np.testing.assert_array_equal(found.row, rows)
    np.testing.assert_array_equal(found.ranks.rank, rank)


def test_read_only_arrays_are_read():
    x = np.random.default_rng(8).normal(size=(30, 4))
    x.flags.writeable = False
    assert evaluate(x, np.arange(30) % 5, metrics=["mrr"]).scores["mrr"] > 0


@pytest.mark.parametrize("spread", [0, 1e-7, 2e-6, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("precision", ["int8", "bfloat16", "float32"])
@pytest.mark.parametrize("metrics", [["mrr"], ["recall_at_1"], ["map_at_r", "recall_at_100"]])
def test_a_collapsed_space_is_not_decided_pair_by_pair(spread, precision, metrics, monkeypatch):
    """Where a tile's product cannot tell pairs apart, the tile is made exact and sorted."""
    pairs = []
    exactly = products.Products.exactly
    monkeypatch.setattr(
        products.Products, "exactly", lambda *of: (pairs.append(len(of[1])), exactly(*of))[1]
    )
    monkeypatch.setattr(walk, "_NARROWEST", 512)
    rng = np.random.default_rng(0)
    x, y = 1 + spread * rng.normal(size=(1200, 16)), np.arange(1200) % 30
    find(x, y, precision=precision, metrics=metrics, memory=2**26)
    assert sum(pairs) <= 1200**2 / 64


@pytest.mark.parametrize("gallery", [False, True])
def test_progress_is_counted_in_pairs_and_shown_only_when_slow(gallery, monkeypatch):
    bars = []

    class Bar(walk.tqdm):
        def __init__(self, **options):
            self.options, self.counted = options, 0
            bars.append(self)
            super().__init__(**options | {"disable": True})

        def update(self, pairs=1):
            self.counted += pairs

    monkeypatch.setattr(walk, "tqdm", Bar)
    x, y = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 20
    other = {"gallery": x[:70], "gallery_labels": y[:70]} if gallery else {}
    find(x, y, precision="float32", **other)
    (bar,) = bars
    assert bar.counted == bar.options["total"] == 150 * (70 if gallery else 150)
    assert bar.options["delay"] == 3
    assert bar.options["disable"] is None  # hidden where standard error is no terminal


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_gpu_ranks_as_a_cpu_does(precision):
    rng = np.random.default_rng(9)
    y = rng.integers(0, 300, 5000)
    x = rng.normal(size=(300, 64))[y] + 1.5 * rng.normal(size=(5000, 64))
    one = find(x, y, precision=precision, memory=2**26)
    other = find(x, y, precision=precision, memory=2**26, device="cuda")
    np.testing.assert_array_equal(one.ranks.rank, other.ranks.rank)

"""The catalogue: names, what is reported next to a score, and agreement with other libraries."""

import subprocess
import sys
import warnings
from pathlib import Path

import brute_force
import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.evaluation import (
    bootstrap,
    check_metric,
    evaluate,
    metric_names,
    score,
    t_interval,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

LIBRARY = Path(__file__).parents[2] / "workflow" / "scripts"


def blobs(classes=20, each=6, dim=8, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), each)
    x = rng.normal(size=(classes, dim))[y] + noise * rng.normal(size=(len(y), dim))
    return x.astype(np.float32), y


def test_names_are_checked_without_torch_or_numpy():
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r})\n"
        "import dmlbench.evaluation as e\n"
        "e.check_metric('recall_at_1000'); e.metric_names()\n"
        "assert not {'torch', 'numpy', 'scipy', 'faiss'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_small_space_is_scored_without_torch():
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r})\n"
        "import numpy as np\n"
        "from dmlbench.evaluation import concatenate, score\n"
        "x, y = np.random.default_rng(0).normal(size=(300, 16)), np.arange(300) % 30\n"
        "x = concatenate([x[:, :9], x[:, 9:]])\n"
        "score(x, y, metrics=['recall_at_1', 'mrr', 'map_at_r'])\n"
        "assert not {'scipy', 'faiss'} & set(sys.modules)\n"
        "score(x, y, metrics=['recall_at_1', 'nmi', 'ami', 'f1', 'rho', 'pi_ratio'])\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["recall_at_0", "recall_at_1001", "recall_at_01", "precision_at_"])
def test_k_out_of_range_is_refused(name):
    with pytest.raises(UserError, match="from 1 to 1000"):
        check_metric(name)


def test_a_misspelled_metric_gets_the_near_name():
    with pytest.raises(UserError, match="did you mean 'map_at_r'"):
        score(*blobs(), metrics=["map_at_R"])


def test_every_name_of_the_catalogue_can_be_scored():
    names = [name.replace("<k>", "3") for name in metric_names()]
    scores = score(*blobs(), metrics=names)
    assert list(scores) == names
    assert all(np.isfinite(value) for value in scores.values())


def test_metrics_of_the_reference_tables_are_known(shared):
    keys = set()
    for table in (shared / "reference").glob("*/table_*.csv"):
        header, *lines = table.read_text().splitlines()
        column = header.split(",").index("metric")
        keys |= {line.split(",")[column] for line in lines if line.count(",") == header.count(",")}
    keys = {key for key in keys if not key.startswith("tournament")}
    assert len(keys) > 8
    for key in keys:
        check_metric(key)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_pytorch_metric_learning(seed):
    x, y = blobs(30, 7, 16, 1.3, seed)
    x = np.concatenate([x, x[:40] + 0.5])
    y = np.concatenate([y, 100 + np.arange(40) // 3])
    names = ("precision_at_1", "r_precision", "mean_average_precision_at_r")
    oracle = AccuracyCalculator(include=(*names, "mean_reciprocal_rank"), k=len(x) - 1)
    oracle = oracle.get_accuracy(torch.nn.functional.normalize(torch.tensor(x)), torch.tensor(y))
    with pytest.warns(UserWarning, match="1 of 250 queries"):
        ours = score(x, y, metrics=["recall_at_1", "r_precision", "map_at_r", "mrr"])
    assert ours["recall_at_1"] == pytest.approx(oracle["precision_at_1"], abs=1e-9)
    assert ours["r_precision"] == pytest.approx(oracle["r_precision"], abs=1e-9)
    assert ours["map_at_r"] == pytest.approx(oracle["mean_average_precision_at_r"], abs=1e-9)
    assert ours["mrr"] == pytest.approx(oracle["mean_reciprocal_rank"], abs=1e-6)


def test_singletons_are_left_out_counted_and_still_found():
    x = np.array([[1, 0], [0.9, 0.1], [0.99, 0.05]], np.float32)
    result = evaluate(x, ["a", "a", "alone"], metrics=["recall_at_1", "recall_at_2"])
    assert result.left_out == 1
    assert result.row.tolist() == [0, 1]
    assert result.scores == {"recall_at_1": 0.0, "recall_at_2": 1.0}


def test_queries_and_gallery_apart_do_not_find_themselves_only_by_chance():
    x, y = blobs(10, 4)
    result = evaluate(x, y, gallery=x, gallery_labels=y, metrics=["recall_at_1", "map_at_c"])
    assert result.scores["recall_at_1"] == 1.0  # each query's copy is in the gallery
    expected = brute_force.scores(x, y, x, y, metrics=["map_at_c"])
    assert result.scores["map_at_c"] == pytest.approx(expected["map_at_c"])


def test_a_query_whose_class_the_gallery_lacks_is_left_out():
    x, y = blobs(10, 4)
    result = evaluate(x, y, gallery=x[:20], gallery_labels=y[:20], metrics=["recall_at_1"])
    assert result.left_out == 20
    with pytest.raises(UserError, match="no query"):
        score(x[20:], y[20:], gallery=x[:20], gallery_labels=y[:20], metrics=["recall_at_1"])


def test_ties_go_to_the_lower_id_and_are_reported():
    x = np.array([[1, 0], [1, 0], [1, 0], [-1, 0]], np.float32)
    y = [0, 0, 1, 2]
    first = evaluate(x, y, metrics=["recall_at_1"], ids=["b", "c", "a", "d"])
    assert first.scores["recall_at_1"] == 0.0
    assert first.tied == {"recall_at_1": (0.0, 1.0)}
    last = evaluate(x, y, metrics=["recall_at_1"], ids=["b", "c", "z", "d"])
    assert last.scores["recall_at_1"] == 1.0
    with (
        pytest.warns(UserWarning, match="ties broken by image id"),
        pytest.warns(UserWarning, match="2 of 4 queries have no other image of their class"),
    ):
        score(x, y, metrics=["recall_at_1"])


def test_ties_that_change_no_score_are_not_reported():
    x = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [-1, -0.5], [-1, 0.5]], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(x[:4], [0, 0, 1, 1], metrics=["recall_at_1"]) == {"recall_at_1": 1.0}


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_rows_that_are_not_finite_are_named(kind):
    x, y = blobs()
    x[3, 0], x[17, 2] = np.nan, np.inf
    with pytest.raises(UserError, match="2 of 120 rows are not finite: 3, 17"):
        score(kind(x), y, metrics=["recall_at_1"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1]}, r"labels: shape \(2,\)"),
        ({"embeddings": np.zeros(4)}, r"embeddings: shape \(4,\)"),
        ({"distance": "l2"}, "allowed: cosine, euclidean"),
        ({"gallery": np.zeros((2, 8))}, "needs gallery_labels"),
        ({"gallery": np.zeros((2, 3)), "gallery_labels": [0, 1]}, "3 dimensions"),
        ({"ids": [1]}, "ids: shape"),
        ({"ids": [np.nan] * 120}, "ids: 120 of 120 are missing"),
        ({"metrics": "recall_at_1"}, r"a list of names, \['recall_at_1'\]"),
        ({"metrics": None}, "metrics=None; allowed: a list of names"),
        ({"metrics": [1]}, "metric 1: a name is a string"),
        ({"seeds": ()}, r"seeds=\(\); allowed: a list of whole numbers from 0, at least one"),
        ({"seeds": 3}, "seeds=3; allowed"),
        ({"seeds": [0.5]}, r"seeds=\(0.5,\); allowed"),
        ({"seeds": [-1]}, r"seeds=\(-1,\); allowed"),
        ({"embeddings": np.ones((120, 8), complex)}, "complex128; allowed: real numbers"),
        ({"embeddings": torch.ones(120, 8, dtype=torch.complex64)}, "complex64; allowed: real"),
        ({"embeddings": np.full((120, 8), "a")}, "embeddings: values of type <U1; allowed: real"),
        ({"embeddings": [[1.0], [1.0, 2.0]]}, "embeddings: rows of unequal length"),
        ({"labels": [np.nan, *range(119)]}, r"labels: 1 of 120 are missing .*: rows 0$"),
        ({"labels": torch.full((120,), torch.nan)}, "rows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...$"),
        ({"labels": ["a", np.nan, None] + ["b"] * 117}, "labels: 2 of 120 are missing .* 1, 2"),
        ({"labels": np.array([0, None] * 60)}, "labels: 60 of 120 are missing"),
        ({"labels": np.array(["a", 1] * 60, object)}, "labels: .*; allowed: values of one type"),
    ],
)
def test_bad_input_is_one_line(change, message):
    x, y = blobs()
    with pytest.raises(UserError, match=message) as error:
        evaluate(**{"embeddings": x, "labels": y, "metrics": ["recall_at_1"]} | change)
    assert "\n" not in str(error.value)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_cosine_and_euclidean_rank_alike_on_normalized_rows(seed):
    x, y = blobs(8, 5, 6, 1.5, seed)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    one = evaluate(x, y, metrics=brute_force.METRICS)
    other = evaluate(x, y, metrics=brute_force.METRICS, distance="euclidean")
    assert one.scores == other.scores


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.3, 3))
def test_laws_between_metrics(seed, noise):
    x, y = blobs(9, 5, 6, noise, seed)
    s = evaluate(x, y, metrics=[*brute_force.METRICS, "precision_at_5"]).scores
    assert s["recall_at_1"] == s["precision_at_1"]
    assert s["recall_at_1"] <= s["recall_at_2"] <= s["recall_at_10"] <= s["recall_at_1000"] == 1
    assert s["map_at_r_eq_2_35"] <= s["r_precision"]
    assert s["map_at_r"] <= s["r_precision"]
    assert s["map_at_c"] <= 4 / 5
    assert s["map_at_c_eq_29"] <= 4 / 5
    assert s["map_at_c"] <= s["map_at_1000"] <= 4 / 5
    assert s["map_at_1000_eq_30"] == pytest.approx(4 / 1000)


def test_scale_of_rows_does_not_matter_to_cosine():
    x, y = blobs()
    grown = x * np.random.default_rng(1).uniform(0.1, 10, (len(x), 1)).astype(np.float32)
    assert score(x, y, metrics=["map_at_r"]) == score(grown, y, metrics=["map_at_r"])


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(-1040, 1000),
    st.sampled_from(["cosine", "euclidean"]),
)
def test_a_power_of_two_changes_no_score(seed, exponent, distance):
    x, y = blobs(8, 5, 6, 1.5, seed)
    # Few bits, so that the least exponents still hold them.
    x = np.rint(8 * x).astype(np.float64)
    scaled = np.ldexp(x, exponent)
    names = [*brute_force.METRICS, "nmi", "pi_ratio", "rho"]
    one, other = (evaluate(some, y, metrics=names, distance=distance) for some in (x, scaled))
    assert one.scores == other.scores
    assert one.tied == other.tied


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_sizes_whose_squares_float64_cannot_hold_are_scored(distance, size):
    x, y = blobs(10, 5, 6, 1.5)
    x = x.astype(np.float64)
    expected = brute_force.scores(x, y, distance=distance)
    found = evaluate(x * size, y, metrics=brute_force.METRICS, distance=distance)
    assert found.scores == pytest.approx(expected)
    assert not found.tied


def test_one_huge_row_among_ordinary_ones_is_scored():
    x, y = blobs(10, 5, 6, 1.5)
    grown = x.astype(np.float64)
    grown[7] *= 2.0**900
    grown[8] *= 2.0**-900
    assert score(grown, y, metrics=["map_at_r"]) == score(x, y, metrics=["map_at_r"])


def test_bootstrap_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for trial in range(200):
        found = bootstrap(rng.random(80) < 0.7, resamples=200, seed=trial)
        inside += found.low <= 0.7 <= found.high
    assert 0.88 <= inside / 200 <= 0.99


def test_bootstrap_over_classes_sees_that_queries_of_a_class_go_together():
    values = np.repeat([0.0, 1.0] * 10, 50)
    over_queries = bootstrap(values)
    over_classes = bootstrap(values, classes=np.repeat(np.arange(20), 50))
    assert over_classes.mean == over_queries.mean == 0.5
    assert over_classes.high - over_classes.low > 4 * (over_queries.high - over_queries.low)


def test_t_interval_is_students():
    found = t_interval([1.0, 2.0, 4.0])
    half = 4.302652729911275 * np.std([1, 2, 4], ddof=1) / 3**0.5
    assert found == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half))
    assert np.isnan(t_interval([1.0]).low)
    with pytest.raises(UserError, match="level"):
        t_interval([1.0, 2.0], level=95)

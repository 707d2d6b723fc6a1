"""Every form of input either scores as plain arrays do, or one line says what is allowed."""

import decimal
import re

import brute_force
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from dmlbench.errors import UserError
from dmlbench.evaluation import (
    bootstrap,
    concatenate,
    evaluate,
    metric_names,
    score,
    score_separated,
    t_interval,
)
from dmlbench.evaluation.checks import check_memory

EVERY_METRIC = [name.replace("<k>", "2") for name in metric_names()]


def space():
    rng = np.random.default_rng(0)
    y = np.arange(60) // 5
    return np.rint(4 * rng.normal(size=(60, 8)) + 4 * rng.normal(size=(12, 8))[y]), y


WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
LABELS = {
    **{f"NumPy's {name}": (lambda y, name=name: y.astype(name)) for name in WHOLE},
    **{f"torch's {name}": (lambda y, name=name: _tensor(y, name)) for name in WHOLE},
    "float32": lambda y: y.astype(np.float32),
    "bfloat16": lambda y: _tensor(y, "bfloat16"),
    "big-endian": lambda y: y.astype(">i8"),
    "beyond float64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "list": lambda y: y.tolist(),
    "tuple": tuple,
    "list of tensors": lambda y: [torch.tensor(label) for label in y],
    "strings": lambda y: [f"{label:02}" for label in y],
    "series": pd.Series,
    "categories": lambda y: pd.Series(pd.Categorical([f"{label:02}" for label in y])),
    "dates": lambda y: y.astype("datetime64[D]"),
    "decimals": lambda y: [decimal.Decimal(int(label)) for label in y],
    "with a gradient": lambda y: torch.tensor(y, dtype=torch.float64, requires_grad=True),
    "not contiguous": lambda y: np.repeat(y, 2)[::2],
}
EMBEDDINGS = {
    **{f"NumPy's {name}": (lambda x, name=name: x.astype(name)) for name in ("int8", "int64")},
    **{f"NumPy's float{bits}": (lambda x, b=bits: x.astype(f"float{b}")) for bits in (16, 32, 64)},
    **{
        f"torch's {name}": (lambda x, name=name: _tensor(x, name))
        for name in ("int8", "int64", "float16", "bfloat16", "float32", "float64")
    },
    "long double": lambda x: x.astype(np.longdouble),
    "list": lambda x: x.tolist(),
    "list of tensors": lambda x: list(_tensor(x, "bfloat16").requires_grad_()),
    "list of arrays": list,
    "frame": pd.DataFrame,
    "with a gradient": lambda x: torch.tensor(x, requires_grad=True),
    "by columns": np.asfortranarray,
    "read backwards": lambda x: x[::-1].copy()[::-1],
    "negated lazily": lambda x: (
        torch.complex(_tensor(x, "float32"), _tensor(-x, "float32")).conj().imag
    ),
    "unmasked": np.ma.masked_array,
}


def _tensor(values, name):
    return torch.tensor(values).to(getattr(torch, name))


@pytest.mark.parametrize("form", LABELS)
def test_labels_of_any_form_score_alike(form):
    x, y = space()
    assert score(x, LABELS[form](y), metrics=EVERY_METRIC) == score(x, y, metrics=EVERY_METRIC)


@pytest.mark.parametrize("form", EMBEDDINGS)
def test_embeddings_of_any_form_score_alike(form):
    x, y = space()
    assert score(EMBEDDINGS[form](x), y, metrics=EVERY_METRIC) == score(x, y, metrics=EVERY_METRIC)


@pytest.mark.parametrize("form", ["NumPy's uint64", "torch's int8", "beyond float64", "list"])
def test_labels_of_the_gallery_may_have_another_type(form):
    x, y = space()
    far = 2**53 if form == "beyond float64" else 0  # float64 has every second number from here
    labels = LABELS["NumPy's uint64" if far else form](y + far)
    found = score(
        x[::2], y[::2] + far, gallery=x[1::2], gallery_labels=labels[1::2], metrics=["map_at_c"]
    )
    assert found == pytest.approx(
        brute_force.scores(x[::2], y[::2], x[1::2], y[1::2], metrics=["map_at_c"])
    )


REFUSED = [
    ({"labels": np.zeros((60, 1))}, r"labels: shape (60, 1); allowed: (60,), one per row"),
    ({"labels": torch.zeros(60, 1)}, r"labels: shape (60, 1); allowed: (60,), one per row"),
    ({"labels": []}, "labels: shape (0,)"),
    ({"labels": None}, "labels: a NoneType; allowed: an array"),
    ({"labels": 3}, "labels: a int; allowed: an array"),
    ({"labels": set(range(60))}, "labels: a set; allowed: an array"),
    ({"labels": iter(range(60))}, "labels: a range_iterator; allowed"),
    ({"labels": torch.arange(60).to_sparse()}, "labels: a tensor of layout torch.sparse_coo"),
    ({"labels": torch.zeros(60, device="meta")}, "labels: a tensor on device 'meta'"),
    ({"labels": np.ma.masked_less(np.arange(60), 2)}, "labels: 2 values are masked"),
    ({"labels": scipy.sparse.csr_array(np.ones((1, 60)))}, "labels: a csr_array; allowed"),
    ({"labels": [torch.ones(2), torch.ones(3)]}, "labels: rows of unequal shape"),
    ({"embeddings": np.zeros((0, 8)), "labels": []}, "embeddings: shape (0, 8); allowed: [N, D]"),
    ({"embeddings": torch.zeros(60, 0)}, "embeddings: shape (60, 0); allowed: [N, D]"),
    ({"embeddings": []}, "embeddings: shape (0,); allowed: [N, D]"),
    ({"embeddings": None}, "embeddings: a NoneType; allowed: an array"),
    ({"embeddings": torch.eye(60).to_sparse()}, "layout torch.sparse_coo; allowed: dense"),
    ({"embeddings": torch.eye(60).to_sparse_csr()}, "layout torch.sparse_csr; allowed: dense"),
    ({"embeddings": torch.eye(60).to_mkldnn()}, "layout torch._mkldnn; allowed: dense"),
    ({"embeddings": torch.ones(60, 8, device="meta")}, "embeddings: a tensor on device 'meta'"),
    (
        {"embeddings": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])},
        "layout nested; allowed: dense",
    ),
    ({"embeddings": scipy.sparse.eye_array(60)}, "embeddings: a dia_array; allowed"),
    ({"embeddings": np.ma.masked_equal(np.eye(60), 1)}, "embeddings: 60 values are masked"),
    ({"gallery": np.zeros((0, 8)), "gallery_labels": []}, "gallery: shape (0, 8)"),
    (
        {"gallery": np.eye(60, 8), "gallery_labels": ["a"] * 60},
        "labels: values of type int64 and gallery_labels: values of type <U1",
    ),
    (
        {"gallery": np.eye(2, 8), "gallery_labels": [0, 1], "ids": range(60), "gallery_ids": "ab"},
        "gallery_ids: a str",
    ),
    ({"device": "cuda:99"}, "device 'cuda:99': torch cannot rank there; allowed: cpu"),
    ({"device": 99}, "device '99': torch cannot rank there; allowed: cpu"),
    ({"device": "gpu"}, "device 'gpu': torch cannot rank there; allowed: cpu"),
    ({"device": ""}, "device '': torch cannot rank there"),
    ({"device": "meta"}, "device 'meta': torch cannot rank there"),
    ({"device": 0.5}, "device '0.5': torch cannot rank there"),
    ({"memory": 0}, "memory=0; allowed: a positive number of bytes"),
    ({"memory": float("nan")}, "memory=nan; allowed: a positive number"),
    ({"memory": "1"}, "memory='1'; allowed: a positive number"),
    ({"restarts": 1.5}, "restarts: 1.5; allowed: a whole number of at least 1"),
    ({"restarts": "2"}, "restarts: '2'; allowed: a whole number of at least 1"),
    ({"seeds": torch.tensor([0.5])}, "seeds=(0.5,); allowed"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_scored_is_one_line(change, message):
    x, y = space()
    given = {"embeddings": x, "labels": y, "metrics": EVERY_METRIC} | change
    with pytest.raises(UserError, match=re.escape(message)) as error:
        score(**given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["retrieval", "clustering", "structure"])
def test_a_device_that_is_not_there_is_refused_whatever_is_scored(kind):
    name = {"retrieval": "mrr", "clustering": "nmi", "structure": "rho"}[kind]
    with pytest.raises(UserError, match="torch cannot rank there"):
        score(*space(), metrics=[name], device="cuda:99")


def test_a_pair_of_one_class_alone_is_scored_and_has_no_ratio():
    found = score([[1.0, 0.0], [0.0, 1.0]], [3, 3], metrics=EVERY_METRIC)
    assert found["mrr"] == found["nmi"] == 1
    assert np.isnan(found["pi_inter"])
    assert np.isnan(found["pi_ratio"])


def test_seeds_may_be_a_tensor():
    x, y = space()
    assert score(x, y, metrics=["nmi"], seeds=torch.arange(2)) == score(
        x, y, metrics=["nmi"], seeds=[0, 1]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concatenate([]), "allowed: a list of one array per model"),
        (lambda: concatenate(3), "allowed: a list of one array per model"),
        (lambda: concatenate([torch.eye(3).to_sparse()]), "model 0: a tensor of layout"),
        (lambda: score_separated([np.eye(3), np.eye(2)], [0, 0, 1], metrics=["mrr"]), "2 rows"),
        (lambda: bootstrap(["a"]), "values: .*; allowed: numbers"),
        (lambda: bootstrap([]), r"values: shape \(0,\)"),
        (lambda: bootstrap([1.0, 2.0], classes=[1, None]), "classes: 1 of 2 are missing"),
        (lambda: bootstrap([1.0, 2.0], classes=[1]), r"classes: shape \(1,\); allowed: \(2,\)"),
        (lambda: bootstrap([1.0], resamples=1.5), "resamples=1.5; allowed: a whole number from 1"),
        (lambda: bootstrap([1.0], seed=-1), "seed=-1; allowed: a whole number from 0"),
        (lambda: bootstrap([1.0], level="a"), "level='a'; allowed: between 0 and 1"),
        (lambda: t_interval(None), "values: a NoneType"),
        (lambda: t_interval([[1.0]]), r"values: shape \(1, 1\)"),
    ],
)
def test_other_functions_refuse_in_one_line_too(call, message):
    with pytest.raises(UserError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_intervals_take_lists_and_tensors():
    values = [0.0, 1.0, 1.0, 0.5]
    tensor = torch.tensor(values, requires_grad=True)
    assert bootstrap(values) == bootstrap(np.array(values)) == bootstrap(tensor)
    assert t_interval(values) == t_interval(tensor)


def test_a_query_is_not_found_in_a_gallery_that_has_its_id():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 16)), np.arange(60) // 5
    ids = rng.permutation(60)
    alone = score(x, y, ids=ids, metrics=EVERY_METRIC)
    for given in (ids, [f"{number:02}.jpg" for number in ids]):
        found = score(
            x, y, gallery=x, gallery_labels=y, ids=given, gallery_ids=given, metrics=EVERY_METRIC
        )
        assert found == alone


def test_without_ids_copies_in_the_gallery_are_counted():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 16)), np.arange(60) // 5
    for tensor in (np.asarray, torch.tensor):
        with pytest.warns(UserWarning, match="7 of 20 queries find an exact copy") as warned:
            score(
                tensor(x[:20]), y[:20], gallery=x[13:].astype(float), gallery_labels=y[13:],
                ids=range(20), metrics=["mrr"],
            )  # fmt: skip
        assert len(warned) == 2  # the other one: queries without a positive
    ids = {"ids": range(20), "gallery_ids": range(100, 147)}
    found = evaluate(x[:20], y[:20], gallery=x[13:], gallery_labels=y[13:], metrics=["mrr"], **ids)
    assert found.copies == 0  # the caller says that these are other images
    assert evaluate(x, y, metrics=["mrr"]).copies == 0


def test_one_id_with_two_labels_is_refused():
    x, y = space()
    with pytest.raises(UserError, match="id 10 is in the embeddings and in the gallery with diff"):
        score(
            x[:30], y[:30], gallery=x[30:], gallery_labels=y[30:] % 2, ids=range(30),
            gallery_ids=range(30), metrics=["mrr"],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("memory", "device", "expected"),
    [(None, "cpu", 2**30), (None, "cuda:0", 2**32), (1e6, "cuda:0", 1_000_000)],
)
def test_working_memory_is_larger_on_a_gpu_unless_it_is_said(memory, device, expected):
    assert check_memory(memory, device) == expected

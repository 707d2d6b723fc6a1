"""karaman2021's triplet losses against a plain loop over triplets, written from the equations."""

import csv
import itertools
import math
from fractions import Fraction

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import _all_triplets, build_loss
from dmlbench.tuples import Triplets
from torch import nn

SHORT_MARGIN = {"margin": 0.3}
SETTINGS = [
    ("original_triplet", {}),
    ("ranking", {"margin": 0.01}),
    ("ranking", {"margin": -0.2}),
    ("ranking", {"margin": 40.0}),
    ("facenet", SHORT_MARGIN),
    ("facenet_mined", SHORT_MARGIN),
    ("ratio", SHORT_MARGIN),
    ("angular_triplet", {"rho": 0.63}),
    ("angular_triplet", {"rho": 2.0, "hinge": False}),
    ("moving", {"rho": 0.4, "margin": 0.3}),
    ("lifted_triplet", SHORT_MARGIN),
    ("n_pair_triplet", {}),
    ("entangle", {"margin": 0.9}),
    ("modified_entangle", {"rho": 0.7, "margin": 0.9}),
    ("location_aware", {"margin": -1.4}),
    ("distance_sensitive", {"s": 1, "r": 2, "rho": 1.0, "m1": -2.375, "m2": 0.5}),
    ("distance_sensitive", {"s": 0, "r": -1, "rho": 12 / 7, "m1": 2.5, "m2": 2.0}),
    ("distance_sensitive", {"s": 0, "r": 3, "rho": 12 / 7, "m1": -3.5, "m2": 20.0}),
    ("distance_sensitive", {"s": 0.5, "r": 0.5, "rho": 0.5, "m1": 2.0, "m2": 1.0}),
]
NAMES = sorted({name for name, _ in SETTINGS})


def build(name, **hyperparameters):
    return build_loss(name, num_classes=100, embedding_dim=8, **hyperparameters)


def triplet_value(name, a, p, n, margin=0.0, rho=0.0, hinge=True, s=1, r=2, m1=0.0, m2=0.0):
    """The loss of one triplet of vectors, from the printed equation (as corrected)."""
    ap, an, pn = (a - p).norm(), (a - n).norm(), (p - n).norm()
    match name:
        case "original_triplet":  # 2.4
            return (ap.exp() / (ap.exp() + an.exp())) ** 2
        case "ranking":  # 2.5
            return (ap - an + margin).relu()
        case "facenet":  # 2.7
            return (ap**2 - an**2 + margin).relu()
        case "facenet_mined":  # 2.25
            return (ap**2 - an**2 + margin).relu().clamp(max=margin)
        case "ratio":  # 2.9
            return (1 - an / (ap + margin)).relu()
        case "angular_triplet":  # 2.12
            value = ap**2 - 4 * math.tan(rho) ** 2 * (n - (a + p) / 2).norm() ** 2
            return value.relu() if hinge else value
        case "moving":  # 2.14, with the product of table 3.2
            return (ap**2 - an**2 - rho * (1 - p @ a) / (ap * an) + margin).relu()
        case "lifted_triplet":  # 2.17
            return (((margin - an).exp() + (margin - pn).exp()).log() + ap).relu()
        case "n_pair_triplet":  # 2.21
            return (1 + (a @ n - a @ p).exp()).log()
        case "entangle":  # 3.8, first line, with the right sign before ||f_n||^2
            return (a @ n - a @ p + p @ n - n @ n + margin).relu()
        case "modified_entangle":  # 3.14
            return (ap - rho * (an + pn) + margin).relu()
        case "location_aware":  # 3.12
            return (0.5 * (ap**2 - an**2 + a @ a + 2 * p @ n + 2 * n @ n) + margin).relu()
        case "distance_sensitive":  # 3.17, 3.18
            push = rho / (1 - r) * (an ** (1 - r) + pn ** (1 - r))
            return (m1 + ap ** (s + 1) / (s + 1) - push).relu().clamp(max=m2)


def loop_mean(name, x, triplets, **hyperparameters):
    rows = x.unbind()
    values = [
        triplet_value(name, rows[a], rows[p], rows[n], **hyperparameters) for a, p, n in triplets
    ]
    return torch.stack(values).mean()


def valid_triplets(labels):
    return [
        (a, p, n)
        for a, p, n in itertools.product(range(len(labels)), repeat=3)
        if a != p and labels[a] == labels[p] != labels[n]
    ]


def batch(seed, size, classes, *, unit=True, dimension=8):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, dimension, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, (size,), generator=generator)
    return (nn.functional.normalize(x, dim=1) if unit else x / 2).requires_grad_(), labels


def assert_same(ours, oracle, x):
    torch.testing.assert_close(ours, oracle, rtol=1e-6, atol=1e-9)
    (gradient,) = torch.autograd.grad(ours, x)
    (expected,) = torch.autograd.grad(oracle, x)
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("seed", "size", "classes", "unit"), [(0, 12, 3, True), (1, 9, 4, False)])
@pytest.mark.parametrize(("name", "hyperparameters"), SETTINGS)
def test_value_and_gradient_equal_a_loop_over_all_valid_triplets(
    name, hyperparameters, seed, size, classes, unit
):
    x, labels = batch(seed, size, classes, unit=unit)
    ours = build(name, **hyperparameters)(x, labels)
    oracle = loop_mean(name, x, valid_triplets(labels.tolist()), **hyperparameters)
    assert_same(ours, oracle, x)


@pytest.mark.parametrize(("name", "hyperparameters"), SETTINGS)
def test_value_and_gradient_equal_a_loop_over_mined_triplets(name, hyperparameters):
    x, labels = batch(2, 12, 3)
    negative = torch.full((12, 12), 11)
    valid = torch.zeros(12, 12, dtype=torch.bool)
    chosen = valid_triplets(labels.tolist())[::7]
    for a, p, n in chosen:
        negative[a, p], valid[a, p] = n, True
    chosen = [(a, p, int(negative[a, p])) for a, p in valid.nonzero().tolist()]
    ours = build(name, **hyperparameters)(x, labels, Triplets(negative=negative, valid=valid))
    assert_same(ours, loop_mean(name, x, chosen, **hyperparameters), x)


@pytest.mark.parametrize("name", ["original_triplet", "lifted_triplet", "distance_sensitive"])
def test_a_large_batch_is_summed_in_chunks_without_keeping_its_triplets(name):
    x, labels = batch(3, 256, 4, dimension=4)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor.numel()) or tensor, lambda tensor: tensor
    ):
        ours = build(name)(x, labels)
    assert sum(kept) < 10 * 256**2

    one = build(name).triplet_loss
    d = torch.cdist(x, x)
    total = count = 0
    for i in range(256):
        positive, negative = labels == labels[i], labels != labels[i]
        positive[i] = False
        values = one(d[i, positive, None], d[i, negative], d[positive][:, negative])
        total, count = total + values.sum(), count + values.numel()
    assert_same(ours, total / count, x)


@pytest.mark.parametrize("name", NAMES)
def test_listing_every_pair_as_on_a_gpu_gives_the_same(name, monkeypatch):
    x, labels = batch(8, 11, 3)
    listed = build(name)(x, labels)
    monkeypatch.setattr(_all_triplets, "_rows", lambda positive: torch.arange(positive.numel()))
    assert_same(build(name)(x, labels), listed, x)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "labels", [[0, 1, 2, 3, 4], [7, 7, 7, 7], [3]], ids=["no positives", "one class", "one sample"]
)
def test_a_batch_without_triplets_costs_nothing(name, labels):
    x, _ = batch(4, len(labels), 1)
    value = build(name)(x, torch.tensor(labels))
    assert value.ndim == 0
    assert value == 0
    (gradient,) = torch.autograd.grad(value, x)
    assert (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", ["pairs", "across classes", "all the same"])
@pytest.mark.parametrize(("name", "hyperparameters"), SETTINGS)
def test_duplicated_embeddings_have_finite_gradients(name, hyperparameters, kind, dtype):
    rows = {"pairs": [0, 0, 1, 2, 2, 3], "across classes": [0, 1, 2, 0, 1, 3]}
    x, _ = batch(5, 6, 1)
    x = x.detach()[rows.get(kind, [0] * 6)].to(dtype).requires_grad_()
    value = build(name, **hyperparameters)(x, torch.tensor([0, 0, 0, 1, 1, 1]))
    (gradient,) = torch.autograd.grad(value, x)
    assert value.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("name", NAMES)
def test_half_precision_does_not_overflow(name, scale, dtype):
    x, labels = batch(6, 13, 4)
    x = (scale * x.detach()).to(dtype).requires_grad_()
    value = build(name)(x, labels)
    (gradient,) = torch.autograd.grad(value, x)
    assert value.isfinite()
    assert gradient.isfinite().all()
    torch.testing.assert_close(value, build(name)(x.float(), labels))


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("ranking", {"margin": "0.1"}),
        ("facenet", {"margin": math.nan}),
        ("facenet_mined", {"margin": 0}),
        ("ratio", {"margin": 0.0}),
        ("angular_triplet", {"rho": -0.5}),
        ("moving", {"rho": -0.1}),
        ("lifted_triplet", {"margin": math.inf}),
        ("entangle", {"margin": None}),
        ("modified_entangle", {"rho": -1}),
        ("location_aware", {"margin": True}),
        ("distance_sensitive", {"r": 1}),
        ("distance_sensitive", {"s": -1}),
        ("distance_sensitive", {"rho": "12/7"}),
        ("distance_sensitive", {"m2": 0}),
    ],
)
def test_a_bad_value_is_named(name, bad):
    ((parameter, value),) = bad.items()
    with pytest.raises(UserError, match=f"^losses/{name}: {parameter} is {value!r}; allowed: "):
        build(name, **bad)


def test_every_printed_setting_builds(shared):
    files = {"angular": "angular_triplet", "n_pair": "n_pair_triplet"}
    keywords = {"m": "margin", "m_1": "m1", "m_2": "m2"}
    built = set()
    for table in sorted((shared / "reference/karaman2021").glob("table_4_*.csv")):
        for row in csv.DictReader(table.open()):
            name, words = files.get(row["method"], row["method"]), row["variant"].split(";")
            values = dict(word.split("=") for word in words if "=" in word)
            given = {keywords.get(k, k): float(Fraction(value)) for k, value in values.items()}
            if name == "angular_triplet" and "no_hinge" in words:
                given["hinge"] = False
            if name not in ("input_space", "initial_features"):
                build(name, **given)
                built.add(name)
    assert built == set(NAMES) - {"facenet_mined", "lifted_triplet"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_compiled_the_loss_is_the_same(name):
    x, labels = batch(9, 12, 3)
    loss = build(name)
    assert_same(torch.compile(loss, backend="aot_eager")(x, labels), loss(x, labels), x)

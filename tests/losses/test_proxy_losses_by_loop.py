"""Every loss with proxies against a plain double-precision loop over its equation."""

import math
from itertools import combinations

import pytest
import torch
from dmlbench.losses import build_loss
from loss_batches import EMBEDDING_DIM, LABELS, NUM_CLASSES, batch, value_and_gradients


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def cross_entropies(logits, y):
    """-log softmax, sample by sample; logits is a function of sample and class."""
    losses = []
    for i, own in enumerate(y.tolist()):
        row = torch.stack([logits(i, c) for c in range(NUM_CLASSES)])
        losses.append(row.logsumexp(0) - row[own])
    return sum(losses) / len(y)


def proxy_nca(x, w, y, scale):
    x, w = unit(x), unit(w)
    losses = []
    for i, own in enumerate(y.tolist()):
        others = sum(torch.exp(scale * x[i] @ w[c]) for c in range(len(w)) if c != own)
        losses.append(-torch.log(torch.exp(scale * x[i] @ w[own]) / others))
    return sum(losses) / len(y)


def proxy_nca_euclidean(x, w, y):
    x, w = unit(x), unit(w)
    losses = []
    for i, own in enumerate(y.tolist()):
        others = sum(torch.exp(-(x[i] - w[c]).norm()) for c in range(len(w)) if c != own)
        losses.append((x[i] - w[own]).norm() + torch.log(others))
    return sum(losses) / len(y)


def proxy_nca_plus_plus(x, w, y, temperature):
    x, w = unit(x), unit(w)
    return cross_entropies(lambda i, c: -((x[i] - w[c]) ** 2).sum() / temperature, y)


def normalized_softmax(x, w, y, temperature):
    x, w = unit(x), unit(w)
    return cross_entropies(lambda i, c: x[i] @ w[c] / temperature, y)


def cosface(x, w, y, scale, margin):
    x, w = unit(x), unit(w)
    return cross_entropies(lambda i, c: scale * (x[i] @ w[c] - margin * (c == y[i])), y)


def arcface(x, w, y, scale, margin):
    x, w = unit(x), unit(w)
    angle = math.radians(margin)
    return cross_entropies(
        lambda i, c: scale * torch.cos(torch.acos(x[i] @ w[c]) + angle * (c == y[i])), y
    )


def soft_triple(x, w, y, alpha, margin, gamma, tau, centers_per_class):
    x, w = unit(x), unit(w)  # w: [K, C, D]
    K, C, _ = w.shape

    def similarity(i, c):
        s = torch.stack([x[i] @ w[k, c] for k in range(K)])
        weights = torch.exp(gamma * s)
        return (weights * s).sum() / weights.sum()

    loss = cross_entropies(lambda i, c: alpha * (similarity(i, c) - margin * (c == y[i])), y)
    apart = sum(
        (2 - 2 * w[s, c] @ w[t, c]).sqrt() for c in range(C) for s, t in combinations(range(K), 2)
    )
    return loss + tau * apart / (C * K * (K - 1))


def pull(x, w, y, alpha, margin):
    terms = []
    for c in set(y.tolist()):
        own = [x[i] for i in range(len(y)) if y[i] == c]
        terms.append(torch.log(1 + sum(torch.exp(-alpha * (w[c] @ v - margin)) for v in own)))
    return sum(terms) / len(terms)


def proxy_anchor(x, w, y, alpha, margin):
    x, w = unit(x), unit(w)
    push = 0
    for c in range(len(w)):
        others = [x[i] for i in range(len(y)) if y[i] != c]
        terms = [torch.exp(alpha * (w[c] @ v + margin)) for v in others]
        push = push + torch.log(1 + sum(terms) + 0 * w[c].sum())
    return pull(x, w, y, alpha, margin) + push / len(w)


def psomas(similarity, x, w, y, alpha, margin, negatives):
    push = 0
    pushing = set(range(len(w))) - (set(y.tolist()) if negatives == "absent" else set())
    for c in range(len(w)):
        others = sorted(pushing - {c})
        terms = (torch.exp(alpha * (similarity(c, v) + margin)) for v in others)
        push = push + torch.log(1 + sum(terms, w.new_zeros(())))
    return pull(x, w, y, alpha, margin) + push / len(w)


def psomas_proxy_1(x, w, y, alpha, margin, negatives="all"):
    x, w = unit(x), unit(w)
    return psomas(lambda c, v: w[c] @ w[v], x, w, y, alpha, margin, negatives)


def psomas_proxy_2(x, w, y, alpha, margin, negatives="all"):
    x, w = unit(x), unit(w)

    def similarity(c, v):
        return sum((w[c] @ sample) * (sample @ w[v]) for sample in x)

    return psomas(similarity, x, w, y, alpha, margin, negatives)


LOSSES = {
    "proxy_nca": (proxy_nca, {"scale": 2.0}),
    "proxy_nca_euclidean": (proxy_nca_euclidean, {}),
    "proxy_nca_plus_plus": (proxy_nca_plus_plus, {"temperature": 1 / 9}),
    "normalized_softmax": (normalized_softmax, {"temperature": 0.05}),
    "cosface": (cosface, {"scale": 20, "margin": 0.35}),
    "arcface": (arcface, {"scale": 64, "margin": 28.6}),
    "soft_triple": (
        soft_triple,
        {"alpha": 20, "margin": 0.1, "gamma": 10, "tau": 0.2, "centers_per_class": 3},
    ),
    "proxy_anchor": (proxy_anchor, {"alpha": 32, "margin": 0.1}),
    "psomas_proxy_1": (psomas_proxy_1, {"alpha": 5, "margin": 0.1}),
    "psomas_proxy_2": (psomas_proxy_2, {"alpha": 5, "margin": 0.1}),
}
PSOMAS = ["psomas_proxy_1", "psomas_proxy_2"]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize(
    ("name", "more"),
    [(name, {}) for name in LOSSES] + [(name, {"negatives": "absent"}) for name in PSOMAS],
)
def test_proxy_loss_equals_its_equation(name, more, labels):
    oracle, hyperparameters = LOSSES[name]
    hyperparameters = hyperparameters | more
    torch.manual_seed(4)
    loss = build_loss(
        name, num_classes=NUM_CLASSES, embedding_dim=EMBEDDING_DIM, **hyperparameters
    ).double()
    x, y = batch(labels)
    x = x.requires_grad_()
    w = next(loss.parameters())
    value = oracle(x, w, y, **hyperparameters)
    expected = [value.detach(), *torch.autograd.grad(value, [x, w])]
    ours = value_and_gradients(loss, x.detach(), y)
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("block", [1, 3, 8])
@pytest.mark.parametrize("negatives", ["all", "absent"])
def test_the_block_size_of_the_gram_matrix_does_not_matter(negatives, block, monkeypatch):
    x, y = batch("unequal classes, odd size")
    torch.manual_seed(0)
    facts = {"num_classes": NUM_CLASSES, "embedding_dim": EMBEDDING_DIM}
    loss = build_loss("psomas_proxy_1", **facts, negatives=negatives)
    expected = value_and_gradients(loss.double(), x, y)
    monkeypatch.setattr("dmlbench.losses._gram._BLOCK", block)
    torch.testing.assert_close(value_and_gradients(loss, x, y), expected)


@pytest.mark.parametrize("present", [range(6), range(5), range(4)])
@pytest.mark.parametrize("name", PSOMAS)
def test_proxies_of_few_absent_classes_push_as_the_equation_says(name, present):
    oracle, _ = LOSSES[name]
    torch.manual_seed(0)
    loss = build_loss(name, num_classes=6, embedding_dim=4, negatives="absent").double()
    y = torch.tensor([c for c in present for _ in range(2)])
    x = torch.randn(len(y), 4, dtype=torch.float64, requires_grad=True)
    value = oracle(x, loss.proxies, y, loss.alpha, loss.margin, "absent")
    expected = [value.detach(), *torch.autograd.grad(value, [x, loss.proxies])]
    torch.testing.assert_close(value_and_gradients(loss, x.detach(), y), expected)


@pytest.mark.parametrize("name", PSOMAS)
def test_present_proxies_may_be_far_more_alike_than_absent_ones(name):
    """In single precision, in which the difference of their products is beyond exp's range."""
    oracle, _ = LOSSES[name]
    torch.manual_seed(0)
    loss = build_loss(name, num_classes=6, embedding_dim=4, alpha=60, negatives="absent")
    x, y = torch.randn(24, 4), torch.arange(24) % 4
    with torch.no_grad():
        x[:, 0] += 9
        loss.proxies[:4] = torch.randn(4, 4) / 9 + torch.tensor([1, 0, 0, 0])
        loss.proxies[4:] = torch.eye(4)[2:]
    found = value_and_gradients(loss, x, y)
    x, w = x.double().requires_grad_(), loss.proxies.detach().double().requires_grad_()
    value = oracle(x, w, y, loss.alpha, loss.margin, "absent")
    expected = [value.detach(), *torch.autograd.grad(value, [x, w])]
    expected = [tensor.float() for tensor in expected]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_centers_that_have_merged_have_finite_gradients():
    loss = build_loss("soft_triple", num_classes=3, embedding_dim=4, centers_per_class=2).double()
    with torch.no_grad():
        loss.centers.copy_(loss.centers[:1].expand_as(loss.centers))
    x = torch.randn(5, 4, dtype=torch.float64)
    value, *gradients = value_and_gradients(loss, x, torch.tensor([0, 1, 2, 0, 1]))
    assert value.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients)

"""Losses in any precision: inside autocast, and their second derivatives."""

import pytest
import torch
from dmlbench.losses import _all_triplets, available, build_loss
from dmlbench.losses._geometry import NEVER
from dmlbench.regularizers import build_regularizer
from loss_batches import EMBEDDING_DIM, NUM_CLASSES, batch, value_and_gradients
from pretended_gpu import pretended_gpu
from torch.autograd import gradcheck, gradgradcheck

LOSSES = available()
x, y = batch("three classes of four")


def built(name):
    torch.manual_seed(0)
    return build_loss(name, num_classes=NUM_CLASSES, embedding_dim=EMBEDDING_DIM)


def gradients_around(loss, x, y, device, dtype, inside):
    """Value and gradients, the forward pass inside autocast, the backward pass in or outside."""
    x = x.clone().requires_grad_()
    with torch.autocast(device, dtype):
        value = loss(x, y)
        if inside:
            value.backward()
    if not inside:
        value.backward()
    return [value.detach(), x.grad, *(parameter.grad for parameter in loss.parameters())]


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_changes_neither_loss_nor_gradient(name):
    for given in (torch.float32, torch.bfloat16, torch.float16):
        exact = value_and_gradients(built(name), x.to(given), y)
        assert exact[0].dtype == torch.float32
        assert exact[1].dtype == given
        for dtype in (torch.bfloat16, torch.float16):
            for inside in (False, True):
                found = gradients_around(built(name), x.to(given), y, "cpu", dtype, inside)
                torch.testing.assert_close(found, exact, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["multi_similarity", "soft_triple", "angular", "ratio"])
def test_autocast_of_a_gpu_changes_neither_loss_nor_gradient(name):
    exact = value_and_gradients(built(name), x.float(), y)
    with pretended_gpu() as gpu:
        loss = built(name).to(gpu)
        found = gradients_around(
            loss, x.float().to(gpu), y.to(gpu), "cuda", torch.bfloat16, inside=False
        )
        found = [each.cpu() for each in found]
    torch.testing.assert_close(found, exact)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "circle"])
def test_first_and_second_derivatives_are_those_of_the_loss(name):
    loss = built(name).double()
    given = (x.clone().requires_grad_(), *loss.parameters())
    assert gradcheck(lambda x, *_: loss(x, y), given, fast_mode=True)
    assert gradgradcheck(lambda x, *_: loss(x, y), given, fast_mode=True)


def test_derivatives_of_circle_hold_its_weights_constant():
    m, gamma, same = 0.4, 80, y[:, None] == y
    positive, negative = same & ~torch.eye(len(y), dtype=torch.bool), ~same
    S = torch.nn.functional.cosine_similarity(x[:, None], x, dim=2)
    of_positive, of_negative = (1 + m - S).relu(), (S + m).relu()

    def with_constant_weights(x):
        S = torch.nn.functional.cosine_similarity(x[:, None], x, dim=2)
        pull = torch.where(positive, -gamma * of_positive * (S - 1 + m), NEVER).logsumexp(1)
        push = torch.where(negative, gamma * of_negative * (S - m), NEVER).logsumexp(1)
        return torch.nn.functional.softplus(pull + push).mean()

    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    derivatives = []
    for loss in (built("circle"), lambda x, _: with_constant_weights(x)):
        at = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(loss(at, y), at, create_graph=True)
        (second,) = torch.autograd.grad((first * direction).sum(), at)
        derivatives.append([first.detach(), second])
    torch.testing.assert_close(*derivatives)


def test_derivatives_are_right_if_triplets_come_in_chunks():
    pairs = torch.cdist(x, x).requires_grad_()
    positive = (y[:, None] == y).fill_diagonal_(False)
    chosen = positive.flatten().nonzero().squeeze(1)

    def total(pairs, chosen):
        anchor, other = chosen // len(y), chosen % len(y)
        ap, an = pairs[anchor, other][:, None], pairs[anchor]
        return ((ap - an).sigmoid().square() * (~positive[anchor])).sum()

    def in_chunks(pairs):
        return _all_triplets._Chunked.apply(pairs, chosen.split(7), total)

    assert gradgradcheck(in_chunks, (pairs,), fast_mode=True)
    (expected,) = torch.autograd.grad(total(pairs, chosen), pairs)
    torch.testing.assert_close(torch.func.grad(in_chunks)(pairs.detach()), expected)


def test_autocast_does_not_change_a_penalty():
    given = x.float().requires_grad_()
    for name, argument in (("embedding_l2", given), ("proximity", [given])):
        penalty = build_regularizer(name)
        if name == "proximity":
            penalty.snapshot([torch.zeros_like(given)])
        exact = penalty(argument)
        with torch.autocast("cpu", torch.bfloat16):
            found = penalty(argument)
        assert torch.equal(found, exact)

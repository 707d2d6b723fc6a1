"""The contract on the inputs of losses: one hook checks it, and few cases depend on the loss."""

import copy
import inspect

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import available, build_loss
from dmlbench.losses.proxy_anchor import ProxyAnchor
from loss_batches import EMBEDDING_DIM, LABELS, NUM_CLASSES, batch, value_and_gradients

OPTIONS = {
    "psomas_proxy_1, absent": {"negatives": "absent"},
    "psomas_proxy_2, absent": {"negatives": "absent"},
}
"""Losses that choose their negatives in another way than by default."""

LOSSES = [*available(), *OPTIONS]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]


def built(name):
    torch.manual_seed(0)
    facts = {"num_classes": NUM_CLASSES, "embedding_dim": EMBEDDING_DIM}
    return build_loss(name.partition(",")[0], **facts, **OPTIONS.get(name, {}))


def takes(name, argument):
    """Whether the loss's constructor takes a given fact of the data."""
    return argument in inspect.signature(type(built(name))).parameters


WITH_CLASSES = [name for name in LOSSES if takes(name, "num_classes")]
WITH_PROXIES = [name for name in LOSSES if takes(name, "embedding_dim")]


def refusal(name, x, y):
    with pytest.raises(UserError) as error:
        built(name)(x, y)
    assert "\n" not in str(error.value)
    return str(error.value)


x, y = batch("three classes of four")
x = x.float()
BAD = {
    "labels as a column": (x, y[:, None], "labels: shape (12, 1); allowed: (12,)"),
    "labels as a row": (x, y[None], "labels: shape (1, 12); allowed: (12,)"),
    "one label": (x, y[0], "labels: shape (); allowed: (12,)"),
    "fewer labels": (x, y[:5], "labels: shape (5,); allowed: (12,)"),
    "more labels": (x[:5], y, "labels: shape (12,); allowed: (5,)"),
    "labels that are no integers": (x, y.float(), "labels: torch.float32; allowed: integers"),
    "labels that are truth values": (x, y > 0, "labels: torch.bool; allowed: integers"),
    "an empty batch": (x[:0], y[:0], f"embeddings: shape (0, {EMBEDDING_DIM}); allowed: [B, D]"),
    "no dimension": (x[:, :0], y, "embeddings: shape (12, 0); allowed: [B, D]"),
    "one embedding": (x[0], y[:1], "embeddings: shape (6,); allowed: [B, D]"),
    "a batch of maps": (x[:, :, None], y, "embeddings: shape (12, 6, 1); allowed: [B, D]"),
    "whole numbers": (x.long(), y, "embeddings: torch.int64; allowed: floating-point"),
    "complex numbers": (x + 0j, y, "embeddings: torch.complex64; allowed: floating-point"),
}


# One hook checks every loss: one of each kind here, and below that every loss has the hook.
KINDS = ["triplet", "proxy_anchor", "margin_per_class"]


def test_the_kinds_are_a_loss_without_facts_with_both_and_with_classes_alone():
    assert [(name in WITH_CLASSES, name in WITH_PROXIES) for name in KINDS] == [
        (False, False),
        (True, True),
        (True, False),
    ]


def test_classes_and_size_may_be_given_by_place():
    assert ProxyAnchor(7, 5, margin=0.2).proxies.shape == (7, 5)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("case", BAD)
def test_what_no_loss_can_use_is_refused(name, case):
    embeddings, labels, message = BAD[case]
    assert message in refusal(name, embeddings, labels)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_checks_what_it_is_given(name):
    for case in ("labels as a column", "whole numbers"):
        embeddings, labels, message = BAD[case]
        assert message in refusal(name, embeddings, labels)


@pytest.mark.parametrize("name", WITH_CLASSES)
@pytest.mark.parametrize("label", [-1, NUM_CLASSES])
def test_a_label_that_names_no_class_is_refused(name, label):
    wrong = y.clone()
    wrong[3] = label
    assert refusal(name, x, wrong) == f"labels: {label}; allowed: from 0 to {NUM_CLASSES - 1}"


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in WITH_CLASSES])
def test_without_classes_labels_are_names_alone(name):
    torch.testing.assert_close(built(name)(x, 1000 * y - 7), built(name)(x, y))


@pytest.mark.parametrize("name", WITH_PROXIES)
def test_another_embedding_size_is_refused(name):
    assert "5 dimensions; allowed: 6" in refusal(name, x[:, :5], y)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_labels_of_any_integer_type_give_the_same_loss(name, dtype):
    torch.testing.assert_close(
        value_and_gradients(built(name), x, y.to(dtype)), value_and_gradients(built(name), x, y)
    )


@pytest.mark.parametrize("name", LOSSES)
def test_float64_is_computed_in_float64_or_refused(name):
    if name in WITH_PROXIES:
        assert "embeddings: torch.float64; allowed: torch.float32" in refusal(name, x.double(), y)
        with pytest.raises(UserError, match=r"torch.float32; allowed: torch.float64"):
            built(name).double()(x, y)
    else:
        assert built(name)(x.double(), y).dtype == torch.float64
    assert built(name).double()(x.double(), y).dtype == torch.float64


def check_not_finite(name, value, labels):
    embeddings, labels = batch(labels)
    for row, column in ((0, 0), (len(labels) - 1, EMBEDDING_DIM - 1)):
        some = embeddings.float()
        some[row, column] = value
        assert built(name)(some, labels).isnan()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_row_that_is_not_finite_makes_every_loss_nan(name, value):
    check_not_finite(name, value, "unequal classes, odd size")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("labels", LABELS)
def test_a_row_that_is_not_finite_makes_the_loss_nan_in_any_batch(name, value, labels):
    check_not_finite(name, value, labels)


@pytest.mark.parametrize("name", KINDS)
def test_embeddings_and_labels_may_be_given_by_name(name):
    torch.testing.assert_close(built(name)(embeddings=x, labels=y), built(name)(x, y))


@pytest.mark.parametrize("name", KINDS)
def test_a_copy_of_a_loss_keeps_its_contract(name):
    with pytest.raises(UserError, match="labels: shape"):
        copy.deepcopy(built(name))(x, y[:5])


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_changes_nothing_that_is_refused(name):
    with torch.autocast("cpu", torch.bfloat16):
        assert built(name)(x.bfloat16(), y).isfinite()
        assert "labels: shape (5,)" in refusal(name, x.bfloat16(), y[:5])


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CLASSES)
def test_compiled_a_label_that_names_no_class_makes_the_loss_nan(name):
    torch.compiler.reset()
    compiled = torch.compile(built(name), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, y), built(name)(x, y))
    for label in (-1, NUM_CLASSES):
        wrong = y.clone()
        wrong[3] = label
        assert compiled(x, wrong).isnan()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", WITH_CLASSES)
@pytest.mark.parametrize("label", [-1, NUM_CLASSES])
def test_on_a_gpu_a_label_that_names_no_class_makes_the_loss_nan(name, label):
    wrong = y.clone()
    wrong[3] = label
    loss = built(name).cuda()
    assert loss(x.cuda(), wrong.cuda()).isnan()
    assert loss(x.cuda(), y.cuda()).isfinite()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", LOSSES)
def test_labels_left_on_the_host_are_refused(name):
    with pytest.raises(UserError, match="labels: on cpu; allowed: cuda:0"):
        built(name).cuda()(x.cuda(), y)

"""Cross-batch memory against plain loops, and its queue in and out of checkpoints."""

import copy
import math

import pytest
import torch
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.losses import CrossBatchMemory, available, build_loss
from dmlbench.miners import build_miner

BATCHES = 5
OVER_PAIRS = [
    name
    for name in available()
    if "Pairs" in (registry.annotation("losses", name, "forward", "tuples") or "")
]


def stream(seed=0):
    """Batches of four embeddings [4, 3], of unit length, with labels of three classes."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(BATCHES):
        x = torch.randn(4, 3, generator=generator, dtype=torch.float64)
        yield torch.nn.functional.normalize(x), torch.randint(3, (4,), generator=generator)


def built(name, **options):
    return build_loss(name, num_classes=3, embedding_dim=3, **options)


def by_loop(of_anchor, size, start):
    """The loss of each batch, anchor by anchor, each with a list of (other's label, similarity)."""
    queue, losses = [], []
    for number, (x, labels) in enumerate(stream()):
        batch = list(zip(x, labels.tolist(), strict=True))
        terms = []
        for i, (anchor, label) in enumerate(batch):
            others = batch[:i] + batch[i + 1 :] + queue
            terms.append(of_anchor(label, [(y, float(anchor @ other)) for other, y in others]))
        losses.append(terms)
        if number >= start:
            queue = (queue + batch)[-size:] if size else []
    return losses


def contrastive(label, others):
    """The terms of an anchor's pairs."""
    return [-s if y == label else max(0, s - 0.5) for y, s in others]


def multi_similarity(label, others):
    pull = sum(math.exp(-2 * (s - 0.5)) for y, s in others if y == label)
    push = sum(math.exp(50 * (s - 0.5)) for y, s in others if y != label)
    return math.log1p(pull) / 2 + math.log1p(push) / 50


def hard_triplet(label, others):
    """The terms of an anchor's least similar positive with its most similar negative."""
    positives = [s for y, s in others if y == label]
    negatives = [s for y, s in others if y != label]
    return [max(0, max(negatives) - min(positives) + 0.1)] if positives and negatives else []


@pytest.mark.parametrize(("size", "start"), [(6, 0), (6, 2), (100, 1), (3, 0)])
def test_the_loss_equals_a_loop_over_batch_and_queue(size, start):
    def mean_of_all(terms):
        flat = [value for of_anchor in terms for value in of_anchor]
        return sum(flat) / max(len(flat), 1)

    for name, miner, of_anchor, mean in [
        ("contrastive", None, contrastive, mean_of_all),
        ("multi_similarity", None, multi_similarity, lambda terms: sum(terms) / len(terms)),
        ("triplet", build_miner("hard"), hard_triplet, mean_of_all),
    ]:
        memory = CrossBatchMemory(built(name), size=size, start=start, miner=miner)
        found = [float(memory(x, y)) for x, y in stream()]
        assert found == pytest.approx([mean(terms) for terms in by_loop(of_anchor, size, start)])


def test_the_queue_holds_the_latest_embeddings_oldest_first_without_gradient():
    memory = CrossBatchMemory(built("contrastive"), size=6, start=1)
    for x, y in stream():
        memory(x.requires_grad_(), y)
    seen = [(x, y) for x, y in stream()][1:]
    assert torch.equal(memory.embeddings, torch.cat([x for x, _ in seen])[-6:])
    assert torch.equal(memory.labels, torch.cat([y for _, y in seen])[-6:])
    assert not memory.embeddings.requires_grad


def test_it_is_not_filled_in_evaluation_mode():
    memory = CrossBatchMemory(built("contrastive"), size=6).eval()
    values = [memory(x, y) for x, y in stream()]
    assert values == [built("contrastive")(x, y) for x, y in stream()]
    assert memory.embeddings is None


# These two rank a positive among all samples, not among tuples.
@pytest.mark.parametrize("name", sorted({*OVER_PAIRS} - {"recall_at_k_surrogate", "smooth_ap"}))
def test_rows_without_tuples_change_no_loss(name):
    """`mean_over_anchors` is right; a row of zeros has no length, which some losses add."""
    x, y = next(stream())[0], torch.tensor([0, 0, 1, 1])
    pairs = build_miner("all_valid")(x, y)
    loss = built(name)
    wide = [torch.nn.functional.pad(mask, (0, 5, 0, 5)) for mask in pairs]
    zeros, labels = torch.cat([x, x.new_zeros(5, 3)]), torch.cat([y, torch.arange(3, 8) % 3])
    scale = 9 / 4 if getattr(loss, "mean_over_anchors", False) else 1
    torch.testing.assert_close(scale * loss(zeros, labels, type(pairs)(*wide)), loss(x, y, pairs))


def test_a_copy_with_the_same_state_continues_alike():
    batches = list(stream())
    memory = CrossBatchMemory(built("margin"), size=6)
    for x, y in batches[:3]:
        memory(x, y)
    loaded = CrossBatchMemory(built("margin"), size=6)
    loaded.load_state_dict(memory.state_dict())
    for other in (loaded, copy.deepcopy(memory)):
        expected = copy.deepcopy(memory)
        for x, y in batches[3:]:
            assert torch.equal(other(x, y), expected(x, y))


def test_embeddings_of_half_precision_join_a_memory_of_single_precision():
    memory = CrossBatchMemory(built("multi_similarity"), size=6)
    for x, y in stream():
        x = x.bfloat16().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            value = memory(x, y.tolist())
        value.backward()
        assert (value.dtype, x.grad.dtype) == (torch.float32, torch.bfloat16)
    assert memory.embeddings.dtype == torch.float32


@pytest.mark.parametrize("name", ["proxy_anchor", "triplet"])
def test_a_loss_without_tuples_of_its_own_is_refused(name):
    with pytest.raises(
        UserError, match=r"^cross-batch memory: loss .*; allowed: a loss over pairs"
    ):
        CrossBatchMemory(built(name), size=6)


@pytest.mark.parametrize("size", [0, -1, 3.5, True, "8", None])
def test_a_memory_has_a_size(size):
    loss = build_loss("contrastive", num_classes=4, embedding_dim=8)
    with pytest.raises(UserError, match=f"size: {size!r}; allowed: a whole number of at least 1"):
        CrossBatchMemory(loss, size=size)


@pytest.mark.parametrize("name", ["num_classes", "embedding_dim"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, None])
def test_a_loss_has_classes_and_a_size(name, value):
    given = {"num_classes": 4, "embedding_dim": 8} | {name: value}
    with pytest.raises(UserError, match=f"{name}: .*allowed: a whole number of at least 1"):
        build_loss("contrastive", **given)


@pytest.mark.parametrize("name", ["proxy_nca", "proxy_nca_euclidean", "arcface", "soft_triple"])
def test_proxies_are_of_two_classes_or_more(name):
    with pytest.raises(UserError, match="num_classes: 1; allowed: a whole number of at least 2"):
        build_loss(name, num_classes=1, embedding_dim=8)

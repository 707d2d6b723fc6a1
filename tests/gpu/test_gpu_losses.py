"""Every loss on a pretended GPU: value and gradients are the CPU's, and nothing is left behind."""

import pytest
import torch
from dmlbench import registry
from dmlbench.losses import available, build_loss, contrastive, margin, proxy_anchor
from dmlbench.miners import build_miner
from pretended_gpu import held_on_gpu, host_waits, on_gpu, pretended_gpu

# Two classes are not in the batch.
CLASSES, DIM = 8, 8
LABELS = torch.arange(24) // 4
# A miner for each kind of tuples.
MINERS = {"Pairs": "all_valid", "Triplets": "hard"}


def value_and_gradients(loss, embeddings, *rest):
    embeddings = embeddings.detach().requires_grad_()
    value = loss(embeddings, *rest)
    wanted = [embeddings, *loss.parameters()]
    gradients = torch.autograd.grad(value, wanted, allow_unused=True)
    return [value.detach(), *(gradient for gradient in gradients if gradient is not None)]


def hold(name, dtype=torch.float32):
    """Raise unless the loss gives on the GPU what it gives on the CPU, with and without tuples.

    And unless it does so with deterministic algorithms, and without a wait of the host.
    """
    torch.manual_seed(0)
    loss = build_loss(name, num_classes=CLASSES, embedding_dim=DIM)
    embeddings = torch.nn.functional.normalize(torch.randn(len(LABELS), DIM)).to(dtype)
    takes = registry.annotation("losses", name, "forward", "tuples") or ""
    mined = [()] + [
        (build_miner(miner)(embeddings, LABELS),) for kind, miner in MINERS.items() if kind in takes
    ]
    here = []
    for tuples in mined:
        torch.manual_seed(1)
        here.append(value_and_gradients(loss, embeddings, LABELS, *tuples))
    with pretended_gpu() as gpu:
        loss.to(gpu)
        for tuples, expected in zip(mined, here, strict=True):
            torch.manual_seed(1)
            given = on_gpu((embeddings, LABELS, *tuples))
            with host_waits() as waits:
                there = value_and_gradients(loss, *given)
            assert waits == []
            assert held_on_gpu(there)
            assert len(there) == len(expected)
            for mine, reference in zip(there, expected, strict=True):
                torch.testing.assert_close(mine.cpu(), reference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", available())
def test_a_loss_is_the_same_there(name):
    hold(name)


@pytest.mark.parametrize("name", available())
def test_a_loss_of_bfloat16_embeddings_is_the_same_there(name):
    hold(name, torch.bfloat16)


@pytest.mark.parametrize("name", available())
def test_labels_left_behind_are_refused(name):
    loss = build_loss(name, num_classes=CLASSES, embedding_dim=DIM)
    with pretended_gpu() as gpu, pytest.raises(ValueError, match="labels: on cpu; allowed: cuda:0"):
        loss.to(gpu)(torch.randn(24, DIM).to(gpu), LABELS)


def on_the_cpu(function):
    """A mistake: what a function gives is made on the CPU."""
    return lambda *given: function(*(x.cpu() if torch.is_tensor(x) else x for x in given))


def rounded(function):
    """A mistake: a branch for GPUs computes something else."""

    def wrapped(*given):
        found = function(*given)
        return found * 1.0001 if given[0].is_cuda else found

    return wrapped


@pytest.mark.parametrize("mistake", [on_the_cpu, rounded])
@pytest.mark.parametrize(
    ("home", "shared"),
    [(contrastive, "cosine_similarities"), (proxy_anchor, "unit"), (margin, "euclidean_distances")],
)
def test_a_mistake_is_found(monkeypatch, home, shared, mistake):
    name = home.__name__.rpartition(".")[2]
    monkeypatch.setattr(home, shared, mistake(getattr(home, shared)))
    with pytest.raises((RuntimeError, AssertionError)):
        hold(name)

"""A loss of one's own that cannot be minimized is named, with what is allowed."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import CrossBatchMemory, build_loss
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from dmlbench.samplers import Batch
from dmlbench.training.objective import Objective
from pydantic import ValidationError
from torch import nn
from toy_training import VALUES, trainer


class OwnLoss(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, embeddings, labels):
        return self.of(embeddings)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (lambda embeddings: embeddings.mean(1), r"returns shape \[6\]; allowed: a tensor with one"),
        (lambda embeddings: 0.5, "returns 0.5; allowed: a tensor with one"),
        (lambda embeddings: None, "returns None; allowed: a tensor with one"),
        (lambda embeddings: embeddings.detach().mean(), "has no gradient; allowed: "),
    ],
)
def test_a_loss_that_cannot_be_minimized_is_named(of, said):
    objective = Objective(nn.Linear(3, 2), OwnLoss(of))
    with pytest.raises(UserError, match=f"^loss OwnLoss: {said}"):
        objective(Batch(np.arange(6)), torch.zeros(6, 3), torch.arange(6) // 2)


def test_a_scalar_can_be_minimized():
    objective = Objective(nn.Linear(3, 2), OwnLoss(torch.mean))
    loss, _ = objective(Batch(np.arange(6)), torch.zeros(6, 3), torch.arange(6) // 2)
    loss.backward()


def test_a_training_with_a_memory_minimizes_the_loss_of_batches_and_memory(toy_data):
    changes = {"loss": {"name": "contrastive"}, "memory": {"size": 50, "start": 2}}
    ours, plain = trainer(toy_data, changes), trainer(toy_data, {"loss": {"name": "contrastive"}})
    memory = CrossBatchMemory(build_loss("contrastive", num_classes=1, embedding_dim=8), size=50)
    losses = []
    for (batch, inputs, labels), number in zip(batches_of(plain), range(6), strict=False):
        embeddings = plain.network(inputs)
        expected = memory.train(number >= 2)(embeddings, labels)
        loss, _ = ours.objective(batch, inputs, labels)
        losses.append((loss.item(), expected.item()))
    ours_, expected = zip(*losses, strict=True)
    assert ours_ == expected
    assert memory.embeddings.shape == (50, 8)


def batches_of(trainer):
    for epoch in (1, 2, 3):
        yield from trainer.batches.epoch(epoch, torch.Generator().manual_seed(epoch))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "memory: loss proxy_anchor; allowed: one over pairs, or over triplets with a miner"),
        ({"loss": {"name": "triplet"}}, "memory: loss triplet; allowed: one over pairs, or"),
        (
            {"loss": {"name": "contrastive"}, "regularizers": [{"name": "manifold_mixup"}]},
            "memory: regularizer manifold_mixup; allowed: embedding_l2, proximity",
        ),
        (
            {"loss": {"name": "contrastive"}, "sampler": {"name": "profs"}},
            "memory: sampler profs; allowed: any but profs",
        ),
    ],
)
def test_a_memory_that_does_not_fit_is_refused_by_the_plan(changes, said):
    with pytest.raises(ValidationError, match=said):
        Spec.model_validate(merged(VALUES, {"memory": {"size": 9}} | changes))


def test_without_a_memory_a_spec_is_what_it_was():
    spec = Spec.model_validate(VALUES)
    assert "memory" not in spec.identity
    assert "memory" not in spec.known
    assert Spec.model_validate(
        merged(VALUES, {"loss": {"name": "contrastive"}, "memory": {"size": 9}})
    ).identity["memory"] == {"size": 9}

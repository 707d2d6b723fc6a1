"""A loss of one's own that cannot be minimized is named, with what is allowed."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.samplers import Batch
from dmlbench.training.objective import Objective
from torch import nn


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

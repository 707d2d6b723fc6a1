"""Manifold mixup: a batch mixed with itself inside the network, and its loss mixed likewise."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dmlbench.values import Part, Positive


class Mixture(NamedTuple):
    """How a batch is mixed: image i with image partner[i], with weights `weight` and 1 - `weight`.

    Attributes:
        weight: lambda, in [0, 1].
        partner: int64 [B], a permutation.
    """

    weight: float
    partner: Tensor

    def mix(self, hidden: Tensor) -> Tensor:
        """weight * h_i + (1 - weight) * h_partner(i) for hidden values [B, ...]."""
        partner = self.partner.to(hidden.device, non_blocking=True)
        return self.weight * hidden + (1 - self.weight) * hidden[partner]

    def loss(
        self, criterion: Callable[[Tensor, Tensor], Tensor], embeddings: Tensor, labels: Tensor
    ) -> Tensor:
        """The loss of mixed embeddings [B, D]: each image has its own and its partner's label.

        Args:
            criterion: embeddings and labels to a scalar; mining is part of it, because each set of
                labels has its own tuples.
        """
        partners = labels[self.partner.to(labels.device, non_blocking=True)]
        own, other = criterion(embeddings, labels), criterion(embeddings, partners)
        return self.weight * own + (1 - self.weight) * other


class ManifoldMixup(Part):
    """Mixes the batch where it enters a random stage of the network.

    h = lambda h_i + (1 - lambda) h_partner(i) with lambda ~ Beta(alpha, alpha), one for a batch,
    and loss = lambda L(labels) + (1 - lambda) L(partners' labels): roth2020, appendix H and
    equation 31, where it raises compression and lowers recall. Stage and lambda come from torch's
    global CPU generator, so that nothing waits for the GPU.

    Args:
        alpha: > 0; 2 in roth2020.
    """

    acts_on = "network"

    alpha: Positive = 2.0

    def draw(self, batch_size: int) -> Mixture:
        """A random mixture of a batch."""
        concentration = torch.tensor(self.alpha, dtype=torch.float64)
        weight = torch.distributions.Beta(concentration, concentration).sample().item()
        return Mixture(weight, torch.randperm(batch_size))

    @contextlib.contextmanager
    def mixing(self, stages: Sequence[nn.Module], batch_size: int) -> Iterator[Mixture]:
        """In this context, the input of one randomly drawn stage is mixed.

        Args:
            stages: modules called once in a forward pass with the batch as first argument; the
                network itself represents the input.
        """
        mixture = self.draw(batch_size)
        stage = stages[int(torch.randint(len(stages), ()))]
        hook = stage.register_forward_pre_hook(
            lambda _, inputs: (mixture.mix(inputs[0]), *inputs[1:])
        )
        try:
            yield mixture
        finally:
            hook.remove()

"""PROFS's proximity term: the weights stay near those at the beginning of the projection."""

from collections.abc import Iterable

import torch
from torch import Tensor

from dmlbench.errors import UserError
from dmlbench.values import NotNegative

VERSION = 2


class Proximity:
    """weight / 2 * ||theta_k - theta||^2, with theta_k the weights at the last snapshot.

    can2019, equation 4.7 and Algorithm 1: a snapshot is taken whenever the representatives are
    redrawn; without representatives, at the beginning of a training epoch; for SoftTriple, with any
    sampler, in each iteration, of the weights at the beginning of the previous one
    (`dmlbench.training.objective`). theta is the network's weights; a loss's own parameters (a
    boundary, centers) do not parametrize a distance and stay free. Before the first snapshot the
    penalty is an error.

    Args:
        weight: lambda, >= 0.
    """

    acts_on = "weights"

    def __init__(self, *, weight: NotNegative = 1e-3):
        self.weight = weight
        self.snapshots: list[Tensor] | None = None

    def snapshot(self, parameters: Iterable[Tensor]) -> None:
        """Take the current weights as theta_k."""
        self.snapshots = [parameter.detach().clone() for parameter in parameters]

    def __call__(self, parameters: Iterable[Tensor]) -> Tensor:
        """The penalty (scalar) of the weights, given in the order of the snapshot."""
        if self.snapshots is None:
            raise UserError("proximity: no snapshot of the weights; allowed: after snapshot()")
        parameters = list(parameters)
        # Weights from a checkpoint are on the CPU.
        self.snapshots = [
            start.to(parameter.device)
            for parameter, start in zip(parameters, self.snapshots, strict=True)
        ]
        squares = [
            (parameter - start).square().sum()
            for parameter, start in zip(parameters, self.snapshots, strict=True)
        ]
        return self.weight / 2 * torch.stack(squares).sum()

    def state_dict(self) -> dict[str, list[Tensor] | None]:
        return {"snapshots": self.snapshots}

    def load_state_dict(self, state: dict[str, list[Tensor] | None]) -> None:
        self.snapshots = state["snapshots"]

"""Smooth ranks of the positives, a block of anchors at a time."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import NEVER, indicator
from dmlbench.losses._step import Step

_ENTRIES = 2**20  # of a block [anchors, B, B]


def smooth_ranks(S: Tensor, pairs_positive: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Smooth rank of each j among all samples but i, and among the positives of i.

    The rank of j is 1 + sum_(k != i, j) sigmoid((S_ik - S_ij) / temperature).

    Args:
        S: similarities [B, B].
        pairs_positive: bool [B, B], the pairs to rank; the ranks of other pairs are 1.

    Returns:
        Two tensors [B, B]: rank among all, rank among the positives.
    """
    return _SmoothRanks.apply(S, pairs_positive, temperature)


class _SmoothRanks(Step):
    # autograd would keep the B x B x B sigmoids; recomputing them is cheaper
    @staticmethod
    def forward(S, positive, temperature):
        scaled = _scaled(S, temperature)
        chosen, sums = _counted(positive, S.dtype)
        ranks = torch.cat([_wins(scaled[rows]) @ sums[rows] for rows in _blocks(len(S))])
        ranks = (ranks + 0.5) * chosen[:, :, None]  # j against itself was counted 1/2
        return ranks[:, :, 0] + (1 - chosen), ranks[:, :, 1] + (1 - chosen)

    @staticmethod
    def setup_context(ctx, inputs, output):
        S, positive, ctx.temperature = inputs
        ctx.save_for_backward(S, positive)

    @staticmethod
    def backward(ctx, grad_all, grad_positive):
        S, positive = ctx.saved_tensors
        chosen, sums = _counted(positive, S.dtype)
        scaled = _scaled(S, ctx.temperature)
        grads = torch.stack([grad_all * chosen, grad_positive * chosen], 2)
        blocks = []
        for rows in _blocks(len(scaled)):
            wins = _wins(scaled[rows])
            slope = torch.addcmul(wins, wins, wins, value=-1)
            of_j = ((slope @ sums[rows]) * grads[rows]).sum(2)
            of_k = ((slope.mT @ grads[rows]) * sums[rows]).sum(2)
            blocks.append(of_k - of_j)
        return torch.cat(blocks) / ctx.temperature, None, None


def _counted(positive: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The pairs to rank [B, B]; who counts in the rank among all and among positives [B, B, 2]."""
    chosen = indicator(positive, dtype)
    return chosen, torch.stack([torch.ones_like(chosen), chosen], 2)


def _scaled(S: Tensor, temperature: float) -> Tensor:
    # the anchor ranks before nobody
    return (S / temperature).fill_diagonal_(NEVER)


def _blocks(size: int) -> list[slice]:
    step = max(1, _ENTRIES // size**2)
    return [slice(first, first + step) for first in range(0, size, step)]


def _wins(scaled: Tensor) -> Tensor:
    """How far k ranks before j for anchor a, in [0, 1]: [anchors, B] to [anchors, B, B]."""
    return (scaled[:, None, :] - scaled[:, :, None]).sigmoid_()

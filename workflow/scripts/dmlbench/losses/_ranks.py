"""Smooth ranks of the positives, a block of anchors at a time."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import NEVER, in_full_precision, indicator

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


class _SmoothRanks(torch.autograd.Function):
    # autograd would keep the B x B x B sigmoids; recomputing them is cheaper
    @staticmethod
    def forward(ctx, S, positive, temperature):
        scaled = _scaled(S, temperature)
        chosen = indicator(positive, S.dtype)
        sums = torch.stack([torch.ones_like(S), chosen], 2)
        ranks = torch.cat([_wins(scaled[rows]) @ sums[rows] for rows in _blocks(len(S))])
        ctx.save_for_backward(S, chosen, sums)
        ctx.temperature = temperature
        ranks = (ranks + 0.5) * chosen[:, :, None]  # j against itself was counted 1/2
        return ranks[:, :, 0] + (1 - chosen), ranks[:, :, 1] + (1 - chosen)

    @staticmethod
    @in_full_precision
    def backward(ctx, grad_all, grad_positive):
        S, chosen, sums = ctx.saved_tensors
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


def _scaled(S: Tensor, temperature: float) -> Tensor:
    # the anchor ranks before nobody
    return (S / temperature).fill_diagonal_(NEVER)


def _blocks(size: int) -> list[slice]:
    step = max(1, _ENTRIES // size**2)
    return [slice(first, first + step) for first in range(0, size, step)]


def _wins(scaled: Tensor) -> Tensor:
    """How far k ranks before j for anchor a, in [0, 1]: [anchors, B] to [anchors, B, B]."""
    return (scaled[:, None, :] - scaled[:, :, None]).sigmoid_()

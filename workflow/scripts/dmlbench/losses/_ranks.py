"""Smooth ranks of the positives, a block of anchors at a time."""

import torch
from torch import Tensor

_ENTRIES = 2**22  # of a block [anchors, B, B]


def smooth_ranks(S: Tensor, pairs_positive: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Smooth rank of each j among all samples but i, and among the positives of i.

    The rank of j is 1 + sum_(k != i, j) sigmoid((S_ik - S_ij) / temperature).

    Args:
        S: similarities [B, B].
        pairs_positive: bool [B, B], whose rank is wanted; the ranks of other pairs are 1.

    Returns:
        Two tensors [B, B]: rank among all, rank among the positives.
    """
    return _SmoothRanks.apply(S, pairs_positive, temperature)


class _SmoothRanks(torch.autograd.Function):
    # autograd would keep the B x B x B sigmoids; they are cheaper to compute again
    @staticmethod
    def forward(ctx, S, positive, temperature):
        among_all, among_positive = torch.ones_like(S), torch.ones_like(S)
        for rows in _blocks(len(S)):
            wins = _wins(S, positive, temperature, rows)
            among_all[rows] += wins.sum(2)
            among_positive[rows] += torch.einsum("ajk,ak->aj", wins, positive[rows].to(S.dtype))
        ctx.save_for_backward(S, positive)
        ctx.temperature = temperature
        return among_all, among_positive

    @staticmethod
    def backward(ctx, grad_all, grad_positive):
        S, positive = ctx.saved_tensors
        grad = torch.empty_like(S)
        for rows in _blocks(len(S)):
            wins = _wins(S, positive, ctx.temperature, rows)
            slope = wins * (1 - wins)
            chosen = positive[rows].to(S.dtype)
            of_j = (grad_all[rows] * slope.sum(2)) + grad_positive[rows] * torch.einsum(
                "ajk,ak->aj", slope, chosen
            )
            of_k = torch.einsum("ajk,aj->ak", slope, grad_all[rows])
            of_k += chosen * torch.einsum("ajk,aj->ak", slope, grad_positive[rows])
            grad[rows] = (of_k - of_j) / ctx.temperature
        return grad, None, None


def _blocks(size: int) -> list[slice]:
    step = max(1, _ENTRIES // size**2)
    return [slice(first, first + step) for first in range(0, size, step)]


def _wins(S: Tensor, positive: Tensor, temperature: float, rows: slice) -> Tensor:
    """How far k ranks before j for anchor a, in [0, 1]: [anchors, B, B]; 0 where not asked for."""
    scaled = S[rows] / temperature
    wins = torch.sigmoid(scaled[:, None, :] - scaled[:, :, None])
    wins *= positive[rows].to(S.dtype)[:, :, None]
    wins.diagonal(dim1=1, dim2=2).zero_()
    itself = torch.arange(len(S), device=S.device)[rows]
    wins.scatter_(2, itself[:, None, None].expand(-1, len(S), 1), 0)
    return wins

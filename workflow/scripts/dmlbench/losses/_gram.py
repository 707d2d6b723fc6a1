"""Log-sum-exp over the off-diagonal of a Gram matrix, a block of rows at a time."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import NEVER, softmax_and_log_sum_exp

_BLOCK = 1024  # rows at once: memory is C x 1024 where the Gram matrix has C x C


def log_sum_exp_of_others(x: Tensor, scale: float) -> Tensor:
    """log of sum_(j != i) e^(scale x_i x_j) for each row i of x, [C, D] to [C]."""
    return _LogSumExpOfOthers.apply(x, scale)


class _LogSumExpOfOthers(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        firsts = range(0, len(x), _BLOCK)
        blocks = [softmax_and_log_sum_exp(_block(x, scale, first))[1] for first in firsts]
        result = torch.cat(blocks)
        ctx.save_for_backward(x, result)
        ctx.scale = scale
        return result

    @staticmethod
    def backward(ctx, grad):
        x, result = ctx.saved_tensors
        pulls = []
        for first in range(0, len(x), _BLOCK):
            rows = slice(first, first + _BLOCK)
            block = _block(x, ctx.scale, first)
            # the Gram matrix is symmetric: row i is in its own sum and in that of every other j
            weights = _share(block, result[rows, None]).mul_(grad[rows, None])
            weights.addcmul_(_share(block, result), grad)
            pulls.append(weights @ x)
        return ctx.scale * torch.cat(pulls), None


def _share(block: Tensor, log_sum: Tensor) -> Tensor:
    # exp is slow on a CPU where it underflows, below about -87
    return (block - log_sum).clamp_min_(-80).exp_()


def _block(x: Tensor, scale: float, first: int) -> Tensor:
    block = (scale * x[first : first + _BLOCK]) @ x.T
    block.diagonal(first).fill_(NEVER)
    return block

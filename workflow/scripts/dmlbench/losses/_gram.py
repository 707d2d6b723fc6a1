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
        ctx.save_for_backward(x)
        ctx.scale = scale
        firsts = range(0, len(x), _BLOCK)
        return torch.cat([softmax_and_log_sum_exp(_block(x, scale, i))[1] for i in firsts])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad_x = torch.zeros_like(x)
        for i in range(0, len(x), _BLOCK):
            rows = slice(i, i + _BLOCK)
            share = _block(x, ctx.scale, i).softmax(1).mul_(ctx.scale * grad[rows, None])
            grad_x[rows] += share @ x
            grad_x += share.T @ x[rows]
        return grad_x, None


def _block(x: Tensor, scale: float, first: int) -> Tensor:
    block = (scale * x[first : first + _BLOCK]) @ x.T
    block.diagonal(first).fill_(NEVER)
    return block

"""Log-sum-exp over the off-diagonal of a Gram matrix, a block of rows at a time."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import NEVER, softmax_and_log_sum_exp
from dmlbench.losses._step import Step

_BLOCK = 1024  # rows at once: memory is C x 1024 instead of the Gram matrix's C x C


def log_sum_exp_of_others(x: Tensor, scale: float, among: Tensor | None = None) -> Tensor:
    """log of sum_(j != i) e^(scale x_i x_j) for each row i of x, [C, D] to [C].

    Args:
        x: [C, D].
        scale: factor on the products.
        among: the rows j that count, bool [C]; all of them if None. About NEVER if none does.
    """
    if among is None:
        among = torch.ones(len(x), dtype=torch.bool, device=x.device)
    return _LogSumExpOfOthers.apply(x, scale, among)


class _LogSumExpOfOthers(Step):
    @staticmethod
    def forward(x, scale, among):
        firsts = range(0, len(x), _BLOCK)
        blocks = (_block(x, scale, first).masked_fill_(~among, NEVER) for first in firsts)
        return torch.cat([softmax_and_log_sum_exp(block)[1] for block in blocks])

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale, among = inputs
        ctx.save_for_backward(x, output, among)

    @staticmethod
    def backward(ctx, grad):
        x, result, among = ctx.saved_tensors
        # a row without others contributes nothing: e^(NEVER - 0) is 0
        result = result.masked_fill(result < NEVER / 2, 0)
        pulls = []
        for first in range(0, len(x), _BLOCK):
            rows = slice(first, first + _BLOCK)
            block = _block(x, ctx.scale, first)
            # the Gram matrix is symmetric: row i has a sum, and is part of the sum of every other j
            weights = (_share(block, result[rows, None]) * grad[rows, None]).mul_(among)
            weights.addcmul_(_share(block, result) * among[rows, None], grad)
            pulls.append(weights @ x)
        return ctx.scale * torch.cat(pulls), None, None


def _share(block: Tensor, log_sum: Tensor) -> Tensor:
    # exp is slow on a CPU where it underflows, below about -87; a row that does not count may be
    # far above the sum
    return (block - log_sum).clamp_(-80, 0).exp_()


def _block(x: Tensor, scale: float, first: int) -> Tensor:
    block = (scale * x[first : first + _BLOCK]) @ x.T
    block.diagonal(first).fill_(NEVER)
    return block

"""Similarities and distances of a batch, each one autograd step with a closed-form backward.

Half precision is widened to float32 first: float16 overflows at 65504.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

HALF = (torch.float16, torch.bfloat16)
NEVER = -1e30  # replaces -inf in a log-sum-exp over an empty set; its gradient stays finite


def widened(x: Tensor) -> Tensor:
    """x in float32 if it is in half precision, else x itself."""
    return x.float() if x.dtype in HALF else x


def unit(x: Tensor) -> Tensor:
    """Rows of x scaled to Euclidean length 1; a zero row stays zero."""
    return _Unit.apply(widened(x))


def dot_products(x: Tensor) -> Tensor:
    """Dot products [B, B] of the rows of x [B, D]."""
    return _DotProducts.apply(widened(x))


def cosine_similarities(x: Tensor) -> Tensor:
    """Cosine similarities [B, B] of the rows of x [B, D]; 0 for a zero row."""
    return _CosineSimilarities.apply(widened(x))


def squared_distances(x: Tensor) -> Tensor:
    """Squared Euclidean distances [B, B] of the rows of x [B, D].

    Distances too small for the precision of the dtype count as 0.
    """
    return _SquaredDistances.apply(widened(x))


def euclidean_distances(x: Tensor) -> Tensor:
    """Euclidean distances [B, B] of the rows of x [B, D].

    Distances too small for the precision of the dtype count as 0, and have gradient 0.
    """
    return _EuclideanDistances.apply(widened(x))


def log_sum_exp(x: Tensor, chosen: Tensor) -> Tensor:
    """log of the sum of exp(x) over the chosen entries of each row; about NEVER for none."""
    return _LogSumExp.apply(x, chosen)


def log_one_plus_sum_exp(x: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + sum of exp(x) over the chosen entries of each row): [B, N] to [B]."""
    return functional.softplus(log_sum_exp(x, chosen))


def total(x: Tensor, chosen: Tensor) -> Tensor:
    """Sum of x over the chosen entries, a scalar."""
    return (x * chosen.to(x.dtype)).sum()


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(1e-12)
        y = x / length
        ctx.save_for_backward(y, length)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, length = ctx.saved_tensors
        along = torch.linalg.vecdot(grad, y)[..., None]
        return torch.addcmul(grad, y, along, value=-1).div_(length)


class _DotProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x.T

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (grad + grad.T) @ x


class _CosineSimilarities(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        S = x @ x.T
        per_length = S.diagonal().sqrt().clamp_min_(1e-12).reciprocal_()
        S.mul_(per_length[:, None]).mul_(per_length)
        ctx.save_for_backward(x, S, per_length)
        return S

    @staticmethod
    def backward(ctx, grad):
        x, S, per_length = ctx.saved_tensors
        both = grad + grad.T
        along = (both * S).sum(1) * per_length
        weights = both * per_length
        weights.diagonal().sub_(along)
        return (weights * per_length[:, None]) @ x


def softmax_and_log_sum_exp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax of the rows of x, and the logarithm of its denominator."""
    # exp is slow on a CPU where it underflows; softmax is not, and its maximum is 1 / sum
    share = x.softmax(1)
    return share, x.amax(1) - share.amax(1).log_()


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, chosen):
        # adding is several times faster than torch.where
        share, result = softmax_and_log_sum_exp(x.add(chosen.to(x.dtype) - 1, alpha=-NEVER))
        ctx.save_for_backward(share)
        return result

    @staticmethod
    def backward(ctx, grad):
        (share,) = ctx.saved_tensors
        return share * grad[:, None], None


class _SquaredDistances(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return _squared_distances(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return _pulled_together(x, 2 * grad)


class _EuclideanDistances(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        distance = _squared_distances(x).sqrt_()
        ctx.save_for_backward(x, distance)
        return distance

    @staticmethod
    def backward(ctx, grad):
        x, distance = ctx.saved_tensors
        return _pulled_together(x, grad / distance.masked_fill(distance == 0, math.inf))


def _squared_distances(x: Tensor) -> Tensor:
    gram = x @ x.T
    norms = gram.diagonal()
    both = norms[:, None] + norms
    squared = torch.sub(both, gram, alpha=2)
    # the difference of two numbers of the size of `both` is no more accurate than this
    noise = 8 * torch.finfo(x.dtype).eps
    return squared.masked_fill_(squared <= noise * both, 0)


def _pulled_together(x: Tensor, pull: Tensor) -> Tensor:
    """Sum over j of (pull[i, j] + pull[j, i]) (x_i - x_j)."""
    weights = -(pull + pull.T)
    weights.diagonal().sub_(weights.sum(1))
    return weights @ x

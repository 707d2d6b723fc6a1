"""Similarities and distances of a batch, each one autograd step with a closed-form backward.

Half precision is widened to float32 first: float16 overflows at 65504.
"""

import torch
from torch import Tensor
from torch.nn import functional

NEVER = -1e30  # stands for -inf in a log-sum-exp over an empty set; its gradient stays finite


def widened(x: Tensor) -> Tensor:
    """x in float32 if it is in half precision, else x itself."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def unit(x: Tensor) -> Tensor:
    """Rows of x scaled to Euclidean length 1; a zero row stays zero."""
    return _Unit.apply(widened(x))


def dot_products(x: Tensor) -> Tensor:
    """Dot products [B, B] of the rows of x [B, D]."""
    return _Gram.apply(widened(x))


def cosine_similarities(x: Tensor) -> Tensor:
    """Cosine similarities [B, B] of the rows of x [B, D]."""
    return _Gram.apply(unit(x))


def euclidean_distances(x: Tensor) -> Tensor:
    """Euclidean distances [B, B] of the rows of x [B, D].

    Distances too small for the precision of the dtype count as 0, and have gradient 0.
    """
    return _Euclidean.apply(widened(x))


def log_one_plus_sum_exp(x: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + sum of exp(x) over the chosen entries of each row): [B, N] to [B]."""
    return functional.softplus(log_sum_exp(x, chosen))


def log_sum_exp(x: Tensor, chosen: Tensor) -> Tensor:
    """log of the sum of exp(x) over the chosen entries of each row; about NEVER for none."""
    return torch.where(chosen, x, NEVER).logsumexp(1)


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(1e-12)
        y = x / length
        ctx.save_for_backward(y, length)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, length = ctx.saved_tensors
        radial = (grad * y).sum(-1, keepdim=True)
        return torch.addcmul(grad, y, radial, value=-1).div_(length)


class _Gram(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x.T

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (grad + grad.T) @ x


class _Euclidean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gram = x @ x.T
        norms = gram.diagonal()
        both = norms[:, None] + norms
        squared = torch.sub(both, gram, alpha=2)
        noise = 8 * torch.finfo(x.dtype).eps
        distance = torch.where(squared > noise * both, squared, 0).sqrt_()
        ctx.save_for_backward(x, distance)
        return distance

    @staticmethod
    def backward(ctx, grad):
        x, distance = ctx.saved_tensors
        pull = torch.where(distance > 0, grad / distance, 0)
        pull = pull + pull.T
        return pull.sum(1, keepdim=True) * x - pull @ x

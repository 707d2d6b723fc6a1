"""Similarities and distances of a batch, each one autograd step with a closed-form backward.

Half precision is widened to float32 first: float16 overflows at 65504.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from dmlbench.losses._step import Step, added
from dmlbench.tensors import HALF

NEVER = -1e30  # replaces -inf in a log-sum-exp over an empty set; its gradient stays finite


def widened(x: Tensor) -> Tensor:
    """x in float32 if it is in half precision, else x itself."""
    return x.float() if x.dtype in HALF else x


def unit(x: Tensor) -> Tensor:
    """Rows of x scaled to Euclidean length 1; a zero row stays zero."""
    return _Unit.apply(widened(x))[0]


def products(a: Tensor, b: Tensor) -> Tensor:
    """Dot products [..., A, B] of the rows of a [..., A, D] and of b [..., B, D]."""
    return _Products.apply(a, b)


def dot_products(x: Tensor) -> Tensor:
    """Dot products [B, B] of the rows of x [B, D]."""
    return _DotProducts.apply(widened(x))


def cosine_similarities(x: Tensor) -> Tensor:
    """Cosine similarities [B, B] of the rows of x [B, D]; 0 for a zero row."""
    return _CosineSimilarities.apply(widened(x))[0]


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
    return _LogSumExp.apply(x, chosen)[0]


def log_one_plus_sum_exp(x: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + sum of exp(x) over the chosen entries of each row): [B, N] to [B]."""
    return functional.softplus(log_sum_exp(x, chosen))


def indicator(chosen: Tensor, dtype: torch.dtype) -> Tensor:
    """1 where chosen is True and 0 elsewhere, as floating-point numbers."""
    # on a CPU bytes are converted several times faster than bools
    return (chosen.view(torch.uint8) if chosen.dtype == torch.bool else chosen).to(dtype)


def total(x: Tensor, chosen: Tensor) -> Tensor:
    """Sum of x over the chosen entries, a scalar."""
    return (x * indicator(chosen, x.dtype)).sum()


class _Unit(Step):
    @staticmethod
    def forward(x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min_(1e-12)
        return x / length, length

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, grad_length):
        y, length = ctx.saved_tensors
        parts = []
        if grad is not None:
            along = torch.linalg.vecdot(grad, y)[..., None]
            parts.append(torch.addcmul(grad, y, along, value=-1).div_(length))
        if grad_length is not None:
            parts.append(grad_length * y)
        return added(parts)


class _Products(Step):
    @staticmethod
    def forward(a, b):
        return a @ b.mT

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        # in the order of autograd's own backward pass, and so rounded alike
        return grad @ b, grad.T @ a if a.dim() == 2 else (a.mT @ grad).mT


class _DotProducts(Step):
    @staticmethod
    def forward(x):
        return x @ x.T

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return _with_transpose(grad) @ x


class _CosineSimilarities(Step):
    @staticmethod
    def forward(x):
        S = x @ x.T
        per_length = S.diagonal().sqrt().clamp_min_(1e-12).reciprocal_()
        return S.mul_(per_length[:, None]).mul_(per_length), per_length

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, grad_per_length):
        x, S, per_length = ctx.saved_tensors
        parts = []
        if grad is not None:
            both = _with_transpose(grad)
            along = (both * S).sum(1) * per_length
            weights = both * per_length
            weights.diagonal().sub_(along)
            parts.append(weights.mul_(per_length[:, None]) @ x)
        if grad_per_length is not None:
            parts.append(-(grad_per_length * per_length**3)[:, None] * x)
        return added(parts)


def softmax_and_log_sum_exp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax of the rows of x, and the logarithm of its denominator."""
    # exp is slow on a CPU where it underflows; softmax is not, and its maximum is 1 / sum
    share = x.softmax(1)
    return share, x.amax(1) - share.amax(1).log_()


def through_softmax(share: Tensor, grad: Tensor) -> Tensor:
    """The gradient of x, given that of its softmax over dimension 1."""
    weighted = share * grad
    return weighted - share * weighted.sum(1, keepdim=True)


class _LogSumExp(Step):
    @staticmethod
    def forward(x, chosen):
        # adding is several times faster than torch.where
        share, result = softmax_and_log_sum_exp(
            x.add(indicator(chosen, x.dtype).sub_(1), alpha=-NEVER)
        )
        return result, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[1])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, grad_share):
        (share,) = ctx.saved_tensors
        parts = [] if grad is None else [share * grad[:, None]]
        if grad_share is not None:
            parts.append(through_softmax(share, grad_share))
        return added(parts), None


class _SquaredDistances(Step):
    @staticmethod
    def forward(x):
        return _squared_distances(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return _pulled_together(x, 2 * grad)


class _EuclideanDistances(Step):
    @staticmethod
    def forward(x):
        return _squared_distances(x).sqrt_()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, grad):
        x, distance = ctx.saved_tensors
        # a distance of 0 has no gradient
        return _pulled_together(x, grad / functional.threshold(distance, 0, math.inf))


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
    weights = _with_transpose(pull).neg_()
    weights.diagonal().sub_(weights.sum(1))
    return weights @ x


def _with_transpose(x: Tensor) -> Tensor:
    """x + x.T; on a CPU faster, as the transpose is copied block by block."""
    return x.T.clone(memory_format=torch.contiguous_format).add_(x)

"""The mean of a triplet loss over all valid triplets of a batch, in O(B^2) memory.

A loss of this family sees a triplet (a, p, n) only through its three pairs. It is therefore a
function of ap, an, pn: entries of one [B, B] matrix of pair quantities (or of several, stacked to
[Q, B, B]). Triplets are laid out as [pairs, B], one row per positive pair and one column per
negative, a chunk of rows at a time; the backward pass recomputes each chunk.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from dmlbench.losses._step import Step
from dmlbench.tuples import Triplets, all_pairs

TripletLoss = Callable[[Tensor, Tensor, Tensor], Tensor]


def mean_over_triplets(
    triplet_loss: TripletLoss, pairs: Tensor, labels: Tensor, tuples: Triplets | None
) -> Tensor:
    """Mean of `triplet_loss(ap, an, pn)` over all valid triplets, or over the mined ones.

    Triplets whose loss is clamped to zero count in the mean. Without any triplet the mean is a
    zero with a zero gradient.

    Args:
        triplet_loss: elementwise; its arguments broadcast and lead with the Q of `pairs`, if any.
        pairs: float [B, B] or [Q, B, B]; entry (i, j) belongs to anchor (or positive) i.
        labels: int64 [B].
        tuples: triplets to use instead of all valid ones.
    """
    if tuples is not None:
        return _mean_over_mined(triplet_loss, pairs, tuples)

    batch = len(labels)
    positive, negative = all_pairs(labels)

    def total(pairs: Tensor, chosen: Tensor) -> Tensor:
        anchor, other = chosen // batch, chosen % batch
        ap = pairs[..., anchor, other].unsqueeze(-1)
        an = pairs.index_select(-2, anchor)
        pn = pairs.index_select(-2, other)
        valid = positive[anchor, other].unsqueeze(-1) & negative[anchor]
        return torch.where(valid, triplet_loss(ap, an, pn), 0).sum()

    chosen = _rows(positive)
    chunks = chosen.split(max(4 * batch, 2**20 // batch))
    summed = total(pairs, chosen) if len(chunks) == 1 else _Chunked.apply(pairs, chunks, total)

    count = (positive.sum(1) * negative.sum(1)).sum()
    return summed / count.clamp_min(1)


class _Chunked(Step):
    """Sum of `total(pairs, chunk)` over chunks; the backward pass recomputes each chunk."""

    @staticmethod
    def forward(pairs, chunks, total):
        return sum(total(pairs, chunk) for chunk in chunks)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pairs, ctx.chunks, ctx.total = inputs
        ctx.save_for_backward(pairs)

    @staticmethod
    def backward(ctx, upstream):
        (pairs,) = ctx.saved_tensors
        again = torch.is_grad_enabled()  # whether the gradient is to be differentiated itself
        pairs = pairs if again else pairs.detach().requires_grad_()
        gradient = torch.zeros_like(pairs)
        for chunk in ctx.chunks:
            with torch.enable_grad():
                summed = ctx.total(pairs, chunk)
            gradient += torch.autograd.grad(summed, pairs, create_graph=again)[0]
        return upstream * gradient, None, None


def _rows(positive: Tensor) -> Tensor:
    """Flat indices of the pairs that become rows: the positive ones; on a GPU, all."""
    # Counting the positive ones would make the host wait, and break a compiled graph.
    if positive.is_cuda or torch.compiler.is_compiling():
        return torch.arange(positive.numel(), device=positive.device)
    return positive.flatten().nonzero().squeeze(1)


def _mean_over_mined(triplet_loss: TripletLoss, pairs: Tensor, tuples: Triplets) -> Tensor:
    """Mean of `triplet_loss` over a miner's triplets: everything stays [B, B]."""
    negative = torch.where(tuples.valid, tuples.negative, 0)
    positive = torch.arange(len(negative), device=negative.device).expand_as(negative)
    an = pairs.gather(-1, negative.expand_as(pairs))
    pn = pairs[..., positive, negative]
    values = torch.where(tuples.valid, triplet_loss(pairs, an, pn), 0)
    return values.sum() / tuples.valid.sum().clamp_min(1)

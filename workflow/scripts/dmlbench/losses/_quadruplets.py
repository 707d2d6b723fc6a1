"""The second hinge of the quadruplet loss over all quadruplets, in O(B^2) memory."""

import torch
from torch import Tensor


def quadruplet_hinge(d: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Sum of [d_ij - d_lk + margin]_+ over positive pairs (i, j), and the number of terms.

    k and l are samples of two different classes, neither that of i and j.

    Args:
        d: symmetric distances [B, B].
        labels: [B] int64.
    """
    # As for triplets: the sum is (d_ij + margin) times the number of negative pairs before it,
    # less d_lk times the number of positive pairs after it, both without pairs of the same class.
    same = labels[:, None] == labels
    positive = same.clone().fill_diagonal_(False)
    negative = ~same
    key = torch.where(positive, d + margin, d)
    with torch.no_grad():
        first = same.int().argmax(1)  # the first sample of a class represents it
        group = first[:, None].expand_as(same).flatten()
        by_key = key.flatten().argsort()
        by_group = by_key[group[by_key].argsort(stable=True)]
        nothing = torch.zeros_like(first)
        everywhere = _before_and_after(by_key, positive, negative, group * 0, nothing)
        in_class = _before_and_after(by_group, positive, negative, group, first)
        negatives = everywhere[0] - 2 * in_class[0]
        positives = everywhere[1] - in_class[1] - in_class[1].T
        weight = (positive * negatives - negative * positives).to(d.dtype)
        of_class = 2 * negative.sum(1)  # negative pairs with one sample of i's class
        of_class = (same * of_class).sum(1)
        terms = (positive.sum(1) * (negative.sum() - of_class)).sum()
    return (weight * key).sum(), terms


def _before_and_after(
    order: Tensor, positive: Tensor, negative: Tensor, group: Tensor, first: Tensor
) -> tuple[Tensor, Tensor]:
    """Negative pairs before and positive pairs after each pair, within its group: [B, B] each."""
    counts = []
    for mask in (negative, positive):
        in_group = torch.zeros_like(first).index_add_(0, first, mask.sum(1))
        before_group = in_group.cumsum(0) - in_group
        running = torch.empty_like(group).scatter_(0, order, mask.flatten()[order].cumsum(0))
        counts.append((running - before_group[group], in_group[group]))
    (negatives_before, _), (positives_before, positives) = counts
    after = positives - positives_before
    return negatives_before.view(positive.shape), after.view(positive.shape)

"""The mean triplet hinge, over mined triplets or over all of a batch, in O(B^2) memory."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import indicator
from dmlbench.tuples import Triplets, all_pairs


def triplet_hinge(far: Tensor, labels: Tensor, margin: float, tuples: Triplets | None) -> Tensor:
    """Sum and number of the active triplets' [far[a, p] - far[a, n] + margin]_+, and of all.

    Args:
        far: how far j is from anchor i, [B, B]: a distance or a negated similarity.
        labels: [B] int64.
        tuples: the triplets to use; None for all of the batch.

    Returns:
        Three scalars: the sum, the number of triplets with a loss above 0, the number of triplets.
    """
    if tuples is None:
        return _all_triplets(far, labels, margin)
    hinge = (far - far.gather(1, tuples.negative) + margin).relu()
    hinge = torch.where(tuples.valid, hinge, 0)
    return hinge.sum(), (hinge > 0).sum(), tuples.valid.sum()


def _all_triplets(far: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, Tensor, Tensor]:
    # The hinge is piecewise linear, so its sum is (far[a, p] + margin) times the number of
    # negatives that come before far[a, p] + margin, less far[a, n] times the number of positives
    # that come after it. One sort of each anchor's row counts both.
    positive, negative = all_pairs(labels)
    key = torch.where(positive, far + margin, far)
    with torch.no_grad():
        order = key.argsort(1)
        p, n = (indicator(pairs, far.dtype).gather(1, order) for pairs in (positive, negative))
        negatives_before, positives_before = n.cumsum(1), p.cumsum(1)
        positives_after = positives_before[:, -1:] - positives_before
        sorted_weight = p * negatives_before - n * positives_after
        weight = torch.empty_like(sorted_weight).scatter_(1, order, sorted_weight)
        active = weight.clamp_min(0).sum()
        triplets = (positive.sum(1) * negative.sum(1)).sum()
    return (weight * key).sum(), active, triplets

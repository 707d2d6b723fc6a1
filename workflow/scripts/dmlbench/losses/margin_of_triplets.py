"""Margin loss over triplets, of which each counts its positive and its negative pair."""

from typing import Literal

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Positive


class MarginOfTriplets(nn.Module):
    """Sum over triplets of [d_ap - beta + margin]_+ + [beta - d_an + margin]_+, over their number.

    d is the Euclidean distance of the embeddings as given. A pair counts in each of its triplets,
    so that over all triplets of a batch positive and negative pairs have the same weight; in
    `margin` each pair counts once. Source: the public code of roth2020 (one learned boundary per
    class, active triplets), of musgrave2020 (one boundary) and of the library that psomas2020 calls
    (a fixed one).

    Args:
        num_classes: number of classes C.
        margin: half-width of the band between positive and negative pairs.
        beta: boundary, a Euclidean distance; the initial one if it is learned.
        boundary: one that is learned, one learned `per_class` of the anchor, or `fixed`.
        number: by what the sum is divided: the `terms` above 0, or the `triplets` with one.
    """

    def __init__(
        self,
        num_classes: int,
        *,
        margin: float = 0.2,
        beta: Positive = 1.2,
        boundary: Literal["learned", "per_class", "fixed"] = "learned",
        number: Literal["terms", "triplets"] = "terms",
    ):
        super().__init__()
        self.number = number
        self.margin, self.per_class = margin, boundary == "per_class"
        initial = torch.full((num_classes,) if self.per_class else (), float(beta))
        self.beta = beta if boundary == "fixed" else nn.Parameter(initial)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        d = euclidean_distances(embeddings)
        beta = self.beta[labels][:, None] if self.per_class else self.beta
        pull, push = (d - beta + self.margin).relu(), (beta - d + self.margin).relu()
        if tuples is None:
            total, terms, triplets = _over_all(pull, push, *all_pairs(labels))
        else:
            both = torch.stack([pull, push.gather(1, tuples.negative)])
            both = torch.where(tuples.valid, both, 0)
            active = both > 0
            total, terms, triplets = both.sum(), active.sum(), active.any(0).sum()
        return total / (terms if self.number == "terms" else triplets).clamp_min(1)


def _over_all(pull: Tensor, push: Tensor, positive: Tensor, negative: Tensor) -> list[Tensor]:
    """Sum and number of the terms above 0 of all triplets, and the number of triplets with one."""
    positives, negatives = (pairs.sum(1, keepdim=True) for pairs in (positive, negative))
    total = (pull * positive * negatives).sum() + (push * negative * positives).sum()
    pulled, pushed = ((pairs > 0) for pairs in (pull * positive, push * negative))
    pulled, pushed = pulled.sum(1, keepdim=True), pushed.sum(1, keepdim=True)
    terms = pulled * negatives + pushed * positives
    idle = (positives - pulled) * (negatives - pushed)
    return [total, terms.sum(), (positives * negatives - idle).sum()]

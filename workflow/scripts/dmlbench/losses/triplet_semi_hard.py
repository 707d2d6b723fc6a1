"""Triplet loss over all semi-hard triplets of a batch."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, indicator
from dmlbench.losses._loss import Loss
from dmlbench.tuples import all_pairs
from dmlbench.values import Positive


class TripletSemiHard(Loss):
    """Mean of d_ap - d_an + margin over the triplets with d_ap < d_an < d_ap + margin.

    d is the Euclidean distance of the embeddings as given. A positive pair counts as often as it
    has semi-hard negatives; the miners `semi_hard` and `semi_hard_random` keep one of them. 0
    without semi-hard triplets. Source: pytorch-metric-learning, which the public code of psomas2020
    calls; its text prints one negative for each positive pair (eq. 2.17 and 2.20).

    Args:
        margin: how much farther than the positive a negative may be.
    """

    margin: Positive = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        d = euclidean_distances(embeddings)
        of_positive, of_negative = _semi_hard_triplets(d.detach(), labels, self.margin)
        hinges = (of_positive * (d + self.margin)).sum() - (of_negative * d).sum()
        return hinges / of_positive.sum().clamp_min(1)


def _semi_hard_triplets(d: Tensor, labels: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """In how many semi-hard triplets each pair is the positive or the negative one: [B, B] each."""
    positive, negative = all_pairs(labels)
    ascending, order = d.masked_fill(~negative, torch.inf).sort(1)
    # The semi-hard negatives of a positive pair are those from `first` up to `last` in this order.
    near = d.masked_fill(~positive, torch.inf)
    first = torch.searchsorted(ascending, near, right=True)
    last = torch.searchsorted(ascending, near + margin).maximum(first)
    one = indicator(positive, d.dtype)
    steps = d.new_zeros(len(d), len(d) + 1).scatter_add(1, first, one).scatter_add(1, last, -one)
    of_negative = torch.zeros_like(d).scatter(1, order, steps.cumsum(1)[:, :-1])
    return (last - first) * one, of_negative

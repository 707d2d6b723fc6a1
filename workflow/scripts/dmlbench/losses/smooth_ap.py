"""Smooth-AP loss."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, indicator
from dmlbench.losses._loss import Loss
from dmlbench.losses._ranks import smooth_ranks
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class SmoothAp(Loss):
    """Mean over anchors with a positive of 1 - AP, the average precision from smooth ranks.

    AP is the mean over positives of rank among the positives / rank among all; a rank is
    1 + sum_k sigmoid((S_ik - S_ij) / temperature), S the cosine similarity, and the anchor is
    not in its own ranking. Source: Brown et al. 2020 eq. 7; its authors' code counts the anchor as
    a further positive at rank 1. Time O(B^3), memory O(B^2).

    Args:
        temperature: of the sigmoid.
    """

    temperature: Positive = 0.01

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, _ = tuples or all_pairs(labels)
        among_all, among_positive = smooth_ranks(S, positive, self.temperature)
        chosen = indicator(positive, S.dtype)
        positives = chosen.sum(1)
        AP = (among_positive / among_all * chosen).sum(1) / positives.clamp_min(1)
        has_positive = (positives > 0).to(S.dtype)
        return ((1 - AP) * has_positive).sum() / has_positive.sum().clamp_min(1)

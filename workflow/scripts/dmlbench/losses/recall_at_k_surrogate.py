"""Recall@k surrogate loss."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, indicator
from dmlbench.losses._loss import Loss
from dmlbench.losses._ranks import smooth_ranks
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Count, Positive


class RecallAtKSurrogate(Loss):
    """Mean over anchors with a positive, and over k, of 1 - smooth recall@k.

    Smooth recall@k is sum_j sigmoid((k - rank_j) / rank_temperature) over the positives j, divided
    by min(k, number of positives); rank_j = 1 + sum_m sigmoid((S_im - S_ij) / temperature), S the
    cosine similarity, and the anchor is not in its own ranking.
    Source: Patel et al. 2022 eq. 6-8, without its mixing of similarities.
    Time O(B^3), memory O(B^2).

    Args:
        temperature: of the sigmoid that compares similarities.
        rank_temperature: of the sigmoid that compares a rank with k.
        ks: the k that are averaged.
    """

    temperature: Positive = 0.01
    rank_temperature: Positive = 1
    ks: Sequence[Count] = (1, 2, 4, 8, 16)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, _ = tuples or all_pairs(labels)
        rank, _ = smooth_ranks(S, positive, self.temperature)
        chosen = indicator(positive, S.dtype)
        positives = chosen.sum(1)
        recalls = [
            (torch.sigmoid((k - rank) / self.rank_temperature) * chosen).sum(1)
            / positives.clamp(1, k)
            for k in self.ks
        ]
        has_positive = (positives > 0).to(S.dtype)
        loss = (1 - torch.stack(recalls).mean(0)) * has_positive
        return loss.sum() / has_positive.sum().clamp_min(1)

"""Histogram loss."""

from typing import Annotated

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities
from dmlbench.losses._histograms import soft_histograms
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Interval


class Histogram(Loss):
    """Probability that a negative pair is more similar than a positive one: sum_r h-_r H+_r.

    h- is the soft histogram of the negative pairs' cosine similarities on [-1, 1], H+ the
    cumulative sum of the positive pairs'. 0 without positive or without negative pairs.
    Source: roth2020 eq. 7-9, the second interval of eq. 7 read as [t_r, t_(r+1)];
    Ustinova and Lempitsky 2016.

    Args:
        bins: number R of histogram nodes, both ends included.
    """

    bins: Annotated[int, Interval(ge=2)] = 65

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        pairs = tuples or all_pairs(labels)
        positive, negative = soft_histograms(S, pairs, -1, 1, self.bins)
        positive = positive.sum(0) / pairs.positive.sum().clamp_min(1)
        negative = negative.sum(0) / pairs.negative.sum().clamp_min(1)
        return (negative * positive.cumsum(0)).sum()

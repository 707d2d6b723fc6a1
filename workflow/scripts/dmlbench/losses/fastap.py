"""FastAP loss."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities
from dmlbench.losses._histograms import soft_histograms
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Count


class FastAP(Loss):
    """Mean over anchors with a positive of 1 - AP, with average precision from soft histograms.

    AP = 1/N+ sum_l h+_l H+_l / H_l, where h+ is the histogram of the anchor's squared distances
    to its positives on [0, 4], H+ its cumulative sum, H that of positives and negatives, and N+
    the number of positives. Embeddings are normalized. Source: Cakir et al. 2019 eq. 9, which
    musgrave2020 runs.

    Args:
        bins: number of histogram intervals.
    """

    bins: Count = 10

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        squared = 2 - 2 * cosine_similarities(embeddings)
        pairs = tuples or all_pairs(labels)
        h, h_negative = soft_histograms(squared, pairs, 0, 4, self.bins + 1)
        H, H_all = h.cumsum(1), (h + h_negative).cumsum(1)
        tiny = torch.finfo(h.dtype).tiny
        positives = pairs.positive.sum(1)
        AP = (h * H / H_all.clamp_min(tiny)).sum(1) / positives.clamp_min(1)
        has_positive = positives > 0
        return ((1 - AP) * has_positive).sum() / has_positive.sum().clamp_min(1)

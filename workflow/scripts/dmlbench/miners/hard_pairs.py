"""Hard pair mining: every positive pair, and as many of the nearest negative pairs."""

import torch
from torch import Tensor

from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Pairs, all_pairs


class HardPairs:
    """All positive pairs of each anchor and an equal number of its nearest negatives.

    can2019, section 5.3, for the contrastive and margin losses. Distances are Euclidean; of
    equally distant negatives those first in the batch are taken. An anchor with fewer negatives
    than positives keeps all its negatives, and one without negatives keeps its positives.
    """

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to the pairs that are kept."""
        distance = squared_distances(embeddings)
        positive, negative = all_pairs(labels)
        order = distance.masked_fill(~negative, torch.inf).argsort(dim=1, stable=True)
        among_nearest = torch.arange(len(labels), device=labels.device) < positive.sum(1)[:, None]
        nearest = torch.zeros_like(negative).scatter(1, order, among_nearest)
        return Pairs(positive=positive, negative=negative & nearest)

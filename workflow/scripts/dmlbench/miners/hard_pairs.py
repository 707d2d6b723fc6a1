"""Hard pair mining: every positive pair, and as many of the nearest negative pairs."""

from typing import Annotated

import torch
from torch import Tensor

from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, Part


class HardPairs(Part):
    """All positive pairs of each anchor and an equal number of its nearest negatives.

    can2019, section 5.3, for the contrastive and margin losses. Distances are Euclidean; of
    equally distant negatives those first in the batch are taken. An anchor with fewer negatives
    than positives keeps all its negatives, and one without negatives keeps its positives.

    Args:
        centered: whether distances are computed about the middle of the batch.
    """

    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to the pairs that are kept."""
        distance = squared_distances(embeddings, centered=self.centered)
        positive, negative = all_pairs(labels)
        order = distance.masked_fill(~negative, torch.inf).argsort(dim=1, stable=True)
        among_nearest = torch.arange(len(labels), device=labels.device) < positive.sum(1)[:, None]
        nearest = torch.zeros_like(negative).scatter(1, order, among_nearest)
        return Pairs(positive=positive, negative=negative & nearest)

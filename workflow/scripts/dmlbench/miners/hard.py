"""Hard mining: the farthest positive and the nearest negative of each anchor."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Part


class Hard(Part):
    """Each anchor's farthest positive with its nearest negative, by Euclidean distance.

    On normalized embeddings these are the least similar positive and the most similar negative of
    psomas2020, equations 2.18 and 2.19. Of equal ones, one is taken. An anchor without a positive
    or without a negative gives no triplet.

    Args:
        positives: "hardest", one triplet for each anchor, or "all" positives of the anchor, each
            with the nearest negative (can2019, section 5.3: one hard negative pair for each
            positive pair).
        centered: whether distances are computed about the middle of the batch.
    """

    positives: Literal["hardest", "all"] = "hardest"
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each chosen positive pair."""
        distance = squared_distances(embeddings, centered=self.centered)
        positive, negative = all_pairs(labels)
        nearest = distance.masked_fill(~negative, torch.inf).argmin(1, keepdim=True)
        if self.positives == "hardest":
            farthest = distance.masked_fill(~positive, -torch.inf).argmax(1, keepdim=True)
            positive = positive & torch.zeros_like(positive).scatter(1, farthest, True)
        return Triplets(
            negative=nearest.expand_as(positive).contiguous(),
            valid=positive & negative.any(1, keepdim=True),
        )

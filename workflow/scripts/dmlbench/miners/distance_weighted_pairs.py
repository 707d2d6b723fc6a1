"""Distance-weighted mining for pair losses: the pairs of the mined triplets."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.miners.distance_weighted import DistanceWeighted
from dmlbench.tuples import Pairs
from dmlbench.values import Added, Interval, Positive


class DistanceWeightedPairs:
    """The positive and the negative pair of each triplet of `DistanceWeighted`.

    For losses over pairs: margin (psomas2020, table 5), contrastive and margin of roth2020. A
    negative that is drawn for several positives of an anchor is one pair.

    Args: as in `DistanceWeighted`.
    """

    def __init__(
        self,
        *,
        lower_cutoff: Annotated[float, Interval(gt=0, lt=2)] = 0.5,
        upper_cutoff: Positive = 1.4,
        positives: Literal["all", "one"] = "all",
        centered: Annotated[bool, Added(preferred=True)] = False,
    ):
        self.triplets = DistanceWeighted(
            lower_cutoff=lower_cutoff,
            upper_cutoff=upper_cutoff,
            positives=positives,
            centered=centered,
        )

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to the pairs that are kept."""
        negative, valid = self.triplets(embeddings, labels)
        drawn = torch.zeros_like(valid, dtype=torch.uint8)
        drawn.scatter_reduce_(1, negative, valid.to(torch.uint8), "amax")
        return Pairs(positive=valid, negative=drawn.bool())

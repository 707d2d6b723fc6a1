"""Distance-weighted mining whose weights underflow, as in pytorch-metric-learning."""

from typing import Annotated

import torch
from torch import Tensor

from dmlbench.miners._draw import draw_columns
from dmlbench.miners._geometry import squared_distances
from dmlbench.miners.distance_weighted import RESOLUTION, log_density
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Interval, Part, Positive


class DistanceWeightedOfBatch(Part):
    """As `distance_weighted`, with weights relative to the largest one of the batch, in float32.

    That largest weight may be a positive pair's: in 512 dimensions a pair at the lower cutoff
    weighs e^370 times a pair at sqrt(2). Then the weights of the negatives are 0 in float32, and
    an anchor without any other weight draws uniformly from all of its negatives, near and far.
    `distance_weighted` has no such anchors. An image's distance from itself counts as 1.

    Source: pytorch-metric-learning 0.9.78, which the public code of psomas2020 calls. Each positive
    pair gets a negative. Embeddings must be L2-normalized, D >= 2. Draws come from torch's global
    generator of the embeddings' device.

    Args:
        lower_cutoff: distance below which the weight stays constant, in (0, 2).
        upper_cutoff: distance from which on the weight is 0.
        centered: whether distances are computed about the middle of the batch.
    """

    lower_cutoff: Annotated[float, Interval(gt=0, lt=2)] = 0.5
    upper_cutoff: Positive = 1.4
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each positive pair."""
        positive, negative = all_pairs(labels)
        distance = (
            squared_distances(embeddings, centered=self.centered).sqrt().float().fill_diagonal_(1)
        )
        log_weight = -log_density(distance.clamp(min=self.lower_cutoff), embeddings.shape[1])
        weight = (log_weight - log_weight.max()).exp()
        weight = weight * (negative & (distance < self.upper_cutoff))
        # Any weights that are equal draw uniformly.
        weight = torch.where(weight.any(1, keepdim=True), weight, negative.float()).double()
        largest = weight.amax(1, keepdim=True).clamp_min(torch.finfo(torch.float64).tiny)
        counts = (weight / largest * RESOLUTION).round().long()
        valid = positive & negative.any(1, keepdim=True)
        return Triplets(negative=draw_columns(counts, valid), valid=valid)

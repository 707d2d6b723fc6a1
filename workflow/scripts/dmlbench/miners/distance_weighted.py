"""Distance-weighted mining: negatives drawn evenly from all distances."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.errors import UserError
from dmlbench.miners._draw import choose_positives, draw_columns
from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Interval, Part, Positive

RESOLUTION = 2**30
"""Weights are counted in units of an anchor's largest weight divided by this."""


class DistanceWeighted(Part):
    """Each positive pair gets a negative drawn inversely to how common its distance is.

    P(n | a) is proportional to min(1/q(l), 1/q(d_an)) for d_an <= u and zero beyond, with l the
    lower cutoff, u the upper cutoff, and q(d) = d^(D-2) (1 - d^2/4)^((D-3)/2) the density of the
    distances of points on the unit sphere: roth2020, equations 23 and 24 (23 is printed without
    the square), psomas2020, section 2.3.1.5. roth2020's lambda = 0.5 is the distance below which
    the weight stays constant. Its authors' code has no upper cutoff: `upper_cutoff = 2`,
    which is its draw unless a negative is nearly opposite to the anchor: farther than 1.94 in 128
    dimensions, where 1/q is above 1/q(l) again, the code's weights go on growing.

    An anchor without a negative within the upper cutoff gives no triplet. Embeddings must be
    L2-normalized, D >= 2. Draws come from torch's global generator of the embeddings' device.

    Args:
        lower_cutoff: distance l, in (0, 2).
        upper_cutoff: distance u, above the lower cutoff.
        positives: "all" pairs of a class, one negative each (Wu et al., psomas2020), or "one"
            positive of each anchor, drawn at random (roth2020).
        centered: whether distances are computed about the middle of the batch.
    """

    lower_cutoff: Annotated[float, Interval(gt=0, lt=2)] = 0.5
    upper_cutoff: Positive = 1.4
    positives: Literal["all", "one"] = "all"
    centered: Annotated[bool, Added(preferred=True)] = False

    def __post_init__(self):
        lower_cutoff, upper_cutoff = self.lower_cutoff, self.upper_cutoff
        if not upper_cutoff > lower_cutoff:
            raise UserError(f"upper_cutoff = {upper_cutoff}; allowed: above {lower_cutoff = }")

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each chosen positive pair."""
        positive, negative = all_pairs(labels)
        distance = squared_distances(embeddings, centered=self.centered).sqrt()
        candidate = negative & (distance <= self.upper_cutoff)

        dimension = embeddings.shape[1]
        cap = -log_density(distance.new_full((), self.lower_cutoff), dimension)
        log_weight = torch.minimum(-log_density(distance, dimension), cap)
        # In two dimensions the density is infinite at distance 2: a weight of 0, but still a
        # candidate, to be drawn where there is no other.
        log_weight = log_weight.clamp_min(torch.finfo(log_weight.dtype).min)
        log_weight = log_weight.masked_fill(~candidate, -torch.inf)
        largest = log_weight.amax(1, keepdim=True)
        weight = torch.where(candidate, (log_weight - largest).exp(), 0)

        counts = (weight * RESOLUTION).round().long()
        valid = choose_positives(positive, self.positives) & candidate.any(1, keepdim=True)
        return Triplets(negative=draw_columns(counts, valid), valid=valid)


def log_density(distance: Tensor, dimension: int) -> Tensor:
    """log q(d), up to a constant, on the unit sphere of a space of this dimension."""
    remainder = (1 - distance.square() / 4).clamp(min=0)
    return torch.xlogy(dimension - 2, distance) + torch.xlogy((dimension - 3) / 2, remainder)

"""Soft-hard mining: a random one of the hard positives and of the hard negatives."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.miners._draw import choose_positives, draw_columns
from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Part


class SoftHard(Part):
    """One triplet for each anchor, of a random hard positive and a random hard negative.

    The negative is drawn from those nearer than the farthest positive, {n : d_an < max_p d_ap},
    and the positive from those farther than the nearest negative, {p : d_ap > min_n d_an}, with d
    the Euclidean distance: roth2020, equations 21 and 22 (printed with arg max and arg min where
    the maximum and the minimum are meant, and 22 with the roles of a and p mixed up).

    Draws come from torch's global generator of the embeddings' device.

    Args:
        fallback: what an anchor whose positives are all nearer than its negatives gives: `none`, or
            `any` positive with any negative, as in the public code of roth2020.
        centered: whether distances are computed about the middle of the batch.
    """

    fallback: Annotated[Literal["none", "any"], Added()] = "none"
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to at most one triplet for each anchor."""
        distance = squared_distances(embeddings, centered=self.centered)
        positive, negative = all_pairs(labels)
        farthest_positive = distance.masked_fill(~positive, -torch.inf).amax(1, keepdim=True)
        nearest_negative = distance.masked_fill(~negative, torch.inf).amin(1, keepdim=True)
        hard_positive = positive & (distance > nearest_negative)
        hard_negative = negative & (distance < farthest_positive)
        if self.fallback == "any":
            hard_positive = torch.where(hard_positive.any(1, keepdim=True), hard_positive, positive)
            hard_negative = torch.where(hard_negative.any(1, keepdim=True), hard_negative, negative)
        valid = choose_positives(hard_positive, "one") & hard_negative.any(1, keepdim=True)
        return Triplets(negative=draw_columns(hard_negative, valid), valid=valid)

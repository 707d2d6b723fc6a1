"""Semi-hard mining: a random one of the semi-hard negatives for each anchor and positive."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.miners._draw import choose_positives, draw_columns
from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Part, PositiveOrInfinite


class SemiHardRandom(Part):
    """For each anchor a and positive p, a random one of the negatives farther than p.

    The negative is drawn uniformly from {n : d_ap < d_an < d_ap + margin}, with d the Euclidean
    distance: roth2020, equation 20, which has no margin; with one, as in Schroff et al. and in the
    public code of roth2020. The other semi-hard definition, the hardest, is `semi_hard`.

    Draws come from torch's global generator of the embeddings' device.

    Args:
        margin: how much farther than the positive a negative may be, > 0.
        positives: "one" positive of each anchor, drawn at random (roth2020), or "all".
        fallback: what a pair (a, p) without such a negative gives: `none`, or `any` negative, as in
            that code.
        centered: whether distances are computed about the middle of the batch.
    """

    margin: PositiveOrInfinite = float("inf")
    positives: Literal["all", "one"] = "one"
    fallback: Annotated[Literal["none", "any"], Added()] = "none"
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each chosen positive pair."""
        distance = squared_distances(embeddings, centered=self.centered).sqrt()
        positive, negative = all_pairs(labels)
        ascending, order = distance.masked_fill(~negative, torch.inf).sort(dim=1)
        positive = choose_positives(positive, self.positives)
        # Other pairs search between inf and inf: they find no negative, at no cost.
        nearest = distance.masked_fill(~positive, torch.inf)
        first = torch.searchsorted(ascending, nearest, right=True)
        count = torch.searchsorted(ascending, nearest + self.margin) - first

        drawn = (torch.rand_like(distance, dtype=torch.float64) * count).long()
        position = (first + torch.minimum(drawn, count - 1)).clamp(0, len(labels) - 1)
        mined = Triplets(negative=order.gather(1, position), valid=count > 0)
        if self.fallback == "none":
            return mined
        valid = positive & negative.any(1, keepdim=True)
        anything = draw_columns(negative, valid & ~mined.valid)
        return Triplets(negative=torch.where(mined.valid, mined.negative, anything), valid=valid)

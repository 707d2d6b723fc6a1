"""Negatives from chosen regions of distance around the anchor: easy, semi-hard, hard."""

from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor

from dmlbench.miners._geometry import squared_distances
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Interval, Part, Positive


class KaramanRegion(Part):
    """For each anchor a and positive p, a random negative from the chosen regions around a.

    Circles of radius d_ap - margin, d_ap and d_ap + margin around the anchor, d the Euclidean
    distance, divide the negatives n into four regions:

        1  easy            d_ap + margin <= d_an
        2  semi-hard       d_ap          <  d_an  < d_ap + margin
        3  hard            d_ap - margin <  d_an <= d_ap
        4  hard, nearest                    d_an <= d_ap - margin

    The negative is drawn uniformly from the union of the chosen regions, by torch's global
    generator of the embeddings' device; a pair without a negative in them gives no triplet.

    Args:
        regions: which of 1, 2, 3, 4.
        margin: > 0 and finite, in units of distance.
        centered: whether distances are computed about the middle of the batch.

    Source: karaman2021, figure 2.5. Its text names the regions and says that 3 and 4 are both
    hard; that the same margin separates them is read from the figure's symmetry, not from a
    formula. A region holds many negatives, and `Triplets` one per pair: the expectation over draws
    is the mean over the region, pair by pair. All of region 2 at once, for FaceNet's loss, is the
    loss `facenet_mined`.
    """

    regions: Sequence[Annotated[int, Interval(ge=1, le=4)]] = (2,)
    margin: Positive = 0.2
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each positive pair that has one."""
        d = squared_distances(embeddings, centered=self.centered).sqrt()
        positive, negative = all_pairs(labels)
        ascending, order = d.masked_fill(~negative, torch.inf).sort(dim=1)

        # Sorted by distance, a region is a run of negatives: from nearest (4) to farthest (1).
        hard = torch.searchsorted(ascending, d - self.margin, right=True)
        semi_hard = torch.searchsorted(ascending, d, right=True)
        easy = torch.searchsorted(ascending, d + self.margin)
        end = negative.sum(dim=1, keepdim=True).expand_as(order)
        nearest = torch.zeros_like(end)
        runs = {4: (nearest, hard), 3: (hard, semi_hard), 2: (semi_hard, easy), 1: (easy, end)}

        chosen = [runs[region] for region in sorted(set(self.regions))]
        count = sum(end - start for start, end in chosen)
        uniform = torch.rand(count.shape, dtype=torch.float64, device=count.device)
        drawn = torch.minimum((uniform * count).long(), count - 1)
        position = torch.zeros_like(drawn)
        for start, end in chosen:
            position = torch.where((drawn >= 0) & (drawn < end - start), start + drawn, position)
            drawn = drawn - (end - start)
        return Triplets(negative=order.gather(1, position), valid=positive & (count > 0))

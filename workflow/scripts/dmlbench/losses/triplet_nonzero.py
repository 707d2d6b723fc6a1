"""Triplet loss averaged over the triplets that violate the margin."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets


class TripletNonzero(Loss):
    """Mean of [d_ap - d_an + margin]_+ over the triplets where it is above 0.

    d is the Euclidean distance of the embeddings as given. Source: musgrave2020 eq. 2, averaged
    as its authors' code does. The mean over all triplets (roth2020 eq. 2) is `ranking`.

    Args:
        margin: by how much a negative should be farther than a positive.
    """

    margin: float = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        d = euclidean_distances(embeddings)
        total, active, _ = triplet_hinge(d, labels, self.margin, tuples)
        return total / active.clamp_min(1)

"""FaceNet's triplet loss, mining semi-hard negatives by a second clamp."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets
from dmlbench.values import Positive


class FacenetMined(Loss):
    """FaceNet's loss clamped at 0 and at its margin, averaged over triplets.

        L(a, p, n) = min(max(0, d_ap^2 - d_an^2 + margin), margin)
                   = max(0, d_ap^2 - d_an^2 + margin) - max(0, d_ap^2 - d_an^2)

    with Euclidean distances d. Only semi-hard negatives, d_ap^2 < d_an^2 < d_ap^2 + margin, have
    a gradient. Harder ones still add the constant margin to the value.

    Args:
        margin: > 0, in units of squared distance.

    Source: karaman2021, eq. 2.25.
    """

    margin: Positive = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        squared = euclidean_distances(embeddings).square()
        lower, _, triplets = triplet_hinge(squared, labels, self.margin, tuples)
        upper, _, _ = triplet_hinge(squared, labels, 0.0, tuples)
        return (lower - upper) / triplets.clamp_min(1)

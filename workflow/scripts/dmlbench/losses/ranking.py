"""The ranking loss: a hinge on the difference of two distances."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets


class Ranking(Loss):
    """Hinge on d(a, p) - d(a, n) + margin, averaged over triplets.

        L(a, p, n) = max(0, d_ap - d_an + margin)

    with Euclidean distances d (not squared: that is FaceNet's loss).

    Args:
        margin: in units of distance; may be negative. The default is the best row of table 4.2;
            on the unit sphere a margin above 2 never clamps.

    Source: karaman2021, eq. 2.5.
    """

    margin: float = 0.01

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        d = euclidean_distances(embeddings)
        total, _, triplets = triplet_hinge(d, labels, self.margin, tuples)
        return total / triplets.clamp_min(1)

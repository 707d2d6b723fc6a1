"""FaceNet's triplet loss: a hinge on the difference of two squared distances."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets


class Facenet(Loss):
    """Hinge on d(a, p)^2 - d(a, n)^2 + margin, averaged over triplets.

        L(a, p, n) = max(0, d_ap^2 - d_an^2 + margin)

    with Euclidean distances d.

    Args:
        margin: in units of squared distance. The default is the best row of table 4.2; on the
            unit sphere a margin above 4 never clamps.

    Source: karaman2021, eq. 2.7. The derivatives printed there (2.8, table 3.1) miss a factor 2.
    """

    margin: float = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        squared = euclidean_distances(embeddings).square()
        total, _, triplets = triplet_hinge(squared, labels, self.margin, tuples)
        return total / triplets.clamp_min(1)

"""The entangle loss: the negative repels anchor and positive alike, in squared distances."""

from torch import Tensor, nn

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import euclidean_distances
from dmlbench.tuples import Triplets


class Entangle(nn.Module):
    """Hinge on half of d(a, p)^2 - d(a, n)^2 - d(p, n)^2, plus margin, averaged over triplets.

        L(a, p, n) = max(0, (d_ap^2 - d_an^2 - d_pn^2) / 2 + margin)

    with Euclidean distances d; the distance-sensitive loss with s = 1, r = -1, rho = 1.

    Args:
        margin: in units of squared distance. The default is that of tables 4.8 and 4.13, which
            never clamps on the unit sphere.

    Source: karaman2021, eq. 3.8. Its first line prints + ||f_n||^2; only - ||f_n||^2 equals its
    second line and the gradients 3.9.
    """

    def __init__(self, *, margin: float = 40.0):
        super().__init__()
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        d = euclidean_distances(embeddings)
        return mean_over_triplets(self.triplet_loss, d, labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (0.5 * (ap.square() - an.square() - pn.square()) + self.margin).relu()

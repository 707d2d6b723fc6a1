"""The modified entangle loss: the negative repels anchor and positive alike, in distances."""

from torch import Tensor, nn

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import euclidean_distances
from dmlbench.tuples import Triplets
from dmlbench.values import NotNegative


class ModifiedEntangle(nn.Module):
    """Hinge on d(a, p) - rho (d(a, n) + d(p, n)) + margin, averaged over triplets.

        L(a, p, n) = max(0, d_ap - rho (d_an + d_pn) + margin)

    with Euclidean distances d; the distance-sensitive loss with s = 0, r = 0. Over all valid
    triplets and unclamped, rho = 0.5 gives exactly the ranking loss: (a, p, n) and (p, a, n) are
    both valid.

    Args:
        rho: push over pull, >= 0. The defaults are those of table 4.13.
        margin: in units of distance; 40 never clamps on the unit sphere.

    Source: karaman2021, eq. 3.14.
    """

    def __init__(self, *, rho: NotNegative = 0.5, margin: float = 40.0):
        super().__init__()
        self.rho = rho
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        d = euclidean_distances(embeddings)
        return mean_over_triplets(self.triplet_loss, d, labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (ap - self.rho * (an + pn) + self.margin).relu()

"""The modified entangle loss: the negative repels anchor and positive alike, in distances."""

from torch import Tensor

from dmlbench.losses._loss import LossOfDistances
from dmlbench.values import NotNegative


class ModifiedEntangle(LossOfDistances):
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

    rho: NotNegative = 0.5
    margin: float = 40.0

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (ap - self.rho * (an + pn) + self.margin).relu()

"""The entangle loss: the negative repels anchor and positive alike, in squared distances."""

from torch import Tensor

from dmlbench.losses._loss import LossOfDistances


class Entangle(LossOfDistances):
    """Hinge on half of d(a, p)^2 - d(a, n)^2 - d(p, n)^2, plus margin, averaged over triplets.

        L(a, p, n) = max(0, (d_ap^2 - d_an^2 - d_pn^2) / 2 + margin)

    with Euclidean distances d; the distance-sensitive loss with s = 1, r = -1, rho = 1.

    Args:
        margin: in units of squared distance. The default is that of tables 4.8 and 4.13, which
            never clamps on the unit sphere.

    Source: karaman2021, eq. 3.8. Its first line prints + ||f_n||^2; only - ||f_n||^2 equals its
    second line and the gradients 3.9.
    """

    margin: float = 40.0

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (0.5 * (ap.square() - an.square() - pn.square()) + self.margin).relu()

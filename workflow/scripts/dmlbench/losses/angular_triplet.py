"""The angular loss of a single triplet, with or without its hinge."""

import math

from torch import Tensor

from dmlbench.losses._loss import LossOfDistances
from dmlbench.values import Positive


class AngularTriplet(LossOfDistances):
    """Bound on the triangle's angle at the negative, averaged over triplets.

        L(a, p, n) = max(0, d_ap^2 - 4 tan(rho)^2 ||n - (a + p) / 2||^2)

    with Euclidean distances d. The median's length follows from the sides:
    4 ||n - (a + p) / 2||^2 = 2 d_an^2 + 2 d_pn^2 - d_ap^2.

    Args:
        rho: the angle in radians, above 0. The default is the best row of table 4.3, whose last
            row has rho = 2, beyond pi / 2: only tan(rho)^2 enters.
        hinge: whether to clamp at zero; table 4.4 is without.

    Source: karaman2021, eq. 2.12. The positive's derivative printed there (2.13, table 3.2) has a
    factor 4 where 2 is right.
    """

    rho: Positive = 0.6
    hinge: bool = True

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        four_medians = 2 * an.square() + 2 * pn.square() - ap.square()
        value = ap.square() - math.tan(self.rho) ** 2 * four_medians
        return value.relu() if self.hinge else value

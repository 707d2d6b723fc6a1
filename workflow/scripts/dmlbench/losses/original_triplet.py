"""The original triplet loss: a softmax of two distances, squared."""

from torch import Tensor

from dmlbench.losses._loss import LossOfDistances


class OriginalTriplet(LossOfDistances):
    """Squared softmax weight of d(a, p) against d(a, n), averaged over triplets.

        L(a, p, n) = ( exp(d_ap) / (exp(d_ap) + exp(d_an)) )^2

    with Euclidean distances d. L is in (0, 1); it needs neither margin nor hinge.

    Source: karaman2021, eq. 2.4 (Hoffer and Ailon 2015). The derivatives printed there (2.11,
    table 3.1) have (exp(d_ap) + exp(d_an))^2 as denominator; the power is 3.
    """

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (ap - an).sigmoid().square()

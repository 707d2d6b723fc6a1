"""The lifted structure loss of a single triplet."""

import torch
from torch import Tensor

from dmlbench.losses._loss import LossOfDistances


class LiftedTriplet(LossOfDistances):
    """Hinge on d(a, p) plus a soft maximum over the two negative pairs, averaged over triplets.

        L(a, p, n) = max(0, log(exp(margin - d_an) + exp(margin - d_pn)) + d_ap)

    with Euclidean distances d.

    Args:
        margin: in units of distance; no value is printed for this form.

    Source: karaman2021, eq. 2.17. The batch form 2.16 squares the hinge, 2.17 does not.
    """

    margin: float = 1.0

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (torch.logaddexp(self.margin - an, self.margin - pn) + ap).relu()

"""The ratio loss: a hinge on one minus a ratio of distances."""

from torch import Tensor

from dmlbench.losses._loss import LossOfDistances
from dmlbench.values import Positive


class Ratio(LossOfDistances):
    """Hinge on 1 - d(a, n) / (d(a, p) + margin), averaged over triplets.

        L(a, p, n) = max(0, 1 - d_an / (d_ap + margin))

    with Euclidean distances d. L is in [0, 1].

    Args:
        margin: > 0, in units of distance. The default is the best row of table 4.3.

    Source: karaman2021, eq. 2.9, with the hinge of its text. The derivatives printed there (2.10,
    table 3.1) are wrong for anchor and positive; the negative's is right.
    """

    margin: Positive = 0.01

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (1 - an / (ap + self.margin)).relu()

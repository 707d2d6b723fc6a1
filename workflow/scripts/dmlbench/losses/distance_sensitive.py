"""The distance-sensitive entangled loss: pull and push are powers of the distance."""

from torch import Tensor
from torch.nn import functional as F

from dmlbench.errors import UserError
from dmlbench.losses._loss import LossOfDistances
from dmlbench.values import NotNegative, NotOne, Positive

_SHORTEST = 1e-6


class DistanceSensitive(LossOfDistances):
    """Loss whose pull grows as d^s and whose push falls as rho / d^r, averaged over triplets.

        L(a, p, n) = min(m2, max(0, m1 + d_ap^(s+1) / (s+1)
                                       - rho / (1-r) (d_an^(1-r) + d_pn^(1-r))))

    with Euclidean distances d. Only triplets strictly between the two clamps have a gradient (the
    in-loss miner); those at the upper one still add the constant m2 to the value. Negative pairs
    nearer than 1e-6 are taken at 1e-6, without a force: for r > 0 it would be unbounded.

    s = 1, r = -1, rho = 1 is the entangle loss, s = r = 0 the modified entangle loss. Tables 4.8
    and 4.13 switch the clamps off by m1 = 40, m2 = 1000.

    Args:
        s: power of the pull, >= 0.
        r: power of the push, not 1, as 1 - r is a divisor.
        rho: push over pull, >= 0; `ideal_rho` gives the value that balances a batch.
        m1: added before clamping; the larger, the farther out negatives have a gradient.
        m2: > 0, upper clamp; the larger, the nearer negatives have a gradient.

        The defaults are the best row of table 4.14.

    Source: karaman2021, eq. 3.17 and 3.18.
    """

    s: NotNegative = 1
    r: NotOne = 2
    rho: NotNegative = 1.0
    m1: float = -2.375
    m2: Positive = 10.0

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        s, r = self.s, self.r
        an, pn = an.clamp_min(_SHORTEST), pn.clamp_min(_SHORTEST)
        pull = ap ** (s + 1) / (s + 1)
        push = self.rho / (1 - r) * (an ** (1 - r) + pn ** (1 - r))
        return F.hardtanh(self.m1 + pull - push, 0.0, self.m2)


def ideal_rho(batch_size: int, num_classes: int) -> float:
    """The rho at which a batch's pulls and pushes of equal strength balance.

    In a batch of C classes with K images each, a positive pair is pulled in 2 K (C - 1) triplets
    and a negative pair is pushed in 4 (K - 1): rho = K (C - 1) / (2 (K - 1)).

    Args:
        batch_size: B = C K; a multiple of `num_classes`, with K >= 2.
        num_classes: classes C in the batch, >= 2.

    Raises:
        UserError: the batch cannot hold such classes.

    Source: karaman2021, eq. 3.19 with B = 2^x, C = 2^y; 12/7 for x = 5, y = 2.
    """
    if num_classes < 2 or batch_size % num_classes or batch_size < 2 * num_classes:
        raise UserError(
            f"batch_size={batch_size!r}, num_classes={num_classes!r}: allowed are at least 2 "
            "classes and a batch that is a multiple, at least twice, of them"
        )
    images = batch_size // num_classes
    return images * (num_classes - 1) / (2 * (images - 1))

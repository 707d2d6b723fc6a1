"""The moving loss: FaceNet's loss with a term that moves with the triplet."""

import torch
from torch import Tensor

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import dot_products, euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Triplets
from dmlbench.values import NotNegative

_ZERO = 1e-6


class Moving(Loss):
    """FaceNet's hinge, less a ratio of angle and distances, averaged over triplets.

        L(a, p, n) = max(0, d_ap^2 - d_an^2 - rho (1 - p.a) / (d_ap d_an) + margin)

    with Euclidean distances d and inner product p.a of unit embeddings. Where the product of
    distances is below 1e-6 the ratio has no direction and is left out.

    Args:
        rho: weight of the ratio, >= 0. The defaults are the best row of table 4.6.
        margin: in units of squared distance.

    Source: karaman2021, eq. 2.14. It is printed with the difference d_ap - d_an as denominator;
    table 3.2 and the gradients 2.15 have the product, which is followed here. All three printed
    derivatives (2.15, table 3.2) are wrong.
    """

    rho: NotNegative = 0.3
    margin: float = 0.2

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        pairs = torch.stack([euclidean_distances(embeddings), dot_products(embeddings)])
        return mean_over_triplets(self.triplet_loss, pairs, labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for stacked (distance, inner product) of the pairs ap, an, pn, elementwise."""
        (d_ap, cosine), (d_an, _) = ap, an
        product = d_ap * d_an
        apart = product > _ZERO
        ratio = torch.where(apart, (1 - cosine) / torch.where(apart, product, 1), 0)
        return (d_ap.square() - d_an.square() - self.rho * ratio + self.margin).relu()

"""The location-aware loss: forces that depend on the location of the triplet."""

import torch
from torch import Tensor

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import dot_products, euclidean_distances
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Triplets


class LocationAware(Loss):
    """Hinge on a sum of distances, inner products and norms, averaged over triplets.

        L(a, p, n) = max(0, (d_ap^2 - d_an^2 + ||a||^2 + 2 p.n + 2 ||n||^2) / 2 + margin)
                   = max(0, (d_ap^2 + ||n||^2) / 2 + a.n + p.n + margin)

    with Euclidean distances d; the second line, d_an^2 written out, is what is computed. On the
    unit sphere it is the entangle loss with a margin larger by 2.5.

    Args:
        margin: in units of squared distance. The default is the best row of table 4.9; table 4.13
            has 40.

    Source: karaman2021, eq. 3.12. The third line of its eq. 3.11 has the wrong sign before
    ||f_n||^2 / 2; 3.10 and 3.12 agree.
    """

    margin: float = 0.01

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        products = dot_products(embeddings)
        second_norms = products.diagonal().expand_as(products)
        pairs = torch.stack([euclidean_distances(embeddings), products, second_norms])
        return mean_over_triplets(self.triplet_loss, pairs, labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for (distance, inner product, squared norm of the second) of the pairs ap, an, pn."""
        (d_ap, _, _), (_, a_n, norm_n), (_, p_n, _) = ap, an, pn
        return (0.5 * (d_ap.square() + norm_n) + a_n + p_n + self.margin).relu()

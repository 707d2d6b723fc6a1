"""The lifted structure loss of a single triplet."""

import torch
from torch import Tensor, nn

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import euclidean_distances
from dmlbench.tuples import Triplets


class LiftedTriplet(nn.Module):
    """Hinge on d(a, p) plus a soft maximum over the two negative pairs, averaged over triplets.

        L(a, p, n) = max(0, log(exp(margin - d_an) + exp(margin - d_pn)) + d_ap)

    with Euclidean distances d.

    Args:
        margin: in units of distance; no value is printed for this form.

    Source: karaman2021, eq. 2.17. The batch form 2.16 squares the hinge, 2.17 does not.
    """

    def __init__(self, *, margin: float = 1.0):
        super().__init__()
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        d = euclidean_distances(embeddings)
        return mean_over_triplets(self.triplet_loss, d, labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for distances d_ap, d_an, d_pn, elementwise."""
        return (torch.logaddexp(self.margin - an, self.margin - pn) + ap).relu()

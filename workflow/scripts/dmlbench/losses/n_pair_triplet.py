"""The N-pairs loss of a single triplet."""

from torch import Tensor, nn
from torch.nn import functional as F

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import dot_products
from dmlbench.tuples import Triplets


class NPairTriplet(nn.Module):
    """Logistic loss of the difference of two inner products, averaged over triplets.

        L(a, p, n) = log(1 + exp(a.n - a.p))

    Source: karaman2021, eq. 2.21. The positive's derivative printed there (2.22, table 3.2) points
    along f_p; f_a is right.
    """

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        return mean_over_triplets(self.triplet_loss, dot_products(embeddings), labels, tuples)

    def triplet_loss(self, ap: Tensor, an: Tensor, pn: Tensor) -> Tensor:
        """L for inner products a.p, a.n, p.n, elementwise."""
        return F.softplus(an - ap)

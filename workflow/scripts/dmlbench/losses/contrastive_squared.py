"""Contrastive loss on squared hinges."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class ContrastiveSquared(Loss):
    """Mean over pairs of d^2 if positive, [margin - d]_+^2 if negative.

    d is the Euclidean distance of the embeddings as given. Source: can2019 eq. 3.1 and 3.2;
    Hadsell et al. 2006 without its factor 1/2.

    Args:
        margin: distance below which a negative pair is pushed apart.
    """

    margin: Positive = 1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        positive, negative = tuples or all_pairs(labels)
        pull = total(d.square(), positive)
        push = total((self.margin - d).relu().square(), negative)
        return (pull + push) / (positive.sum() + negative.sum()).clamp_min(1)

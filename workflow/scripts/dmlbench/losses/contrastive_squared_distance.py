"""Contrastive loss on squared distances."""

from torch import Tensor

from dmlbench.losses._geometry import squared_distances, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class ContrastiveSquaredDistance(Loss):
    """Mean over pairs of d^2 if positive, [margin - d^2]_+ if negative.

    d is the Euclidean distance of the embeddings as given. Source: karaman2021 eq. 2.3.

    Args:
        margin: squared distance below which a negative pair is pushed apart.
    """

    margin: Positive = 1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        squared = squared_distances(embeddings)
        positive, negative = tuples or all_pairs(labels)
        loss = total(squared, positive) + total((self.margin - squared).relu(), negative)
        return loss / (positive.sum() + negative.sum()).clamp_min(1)

"""Contrastive loss with equal weights of positive and negative pairs."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, indicator
from dmlbench.losses._loss import Loss
from dmlbench.losses._margin import mean_of_nonzero
from dmlbench.tuples import Pairs, all_pairs


class ContrastiveBalanced(Loss):
    """Mean of [d - positive_margin]_+ over positive pairs, plus of [margin - d]_+ over negative.

    Each mean is over the pairs with a loss above 0; d is the Euclidean distance of the
    embeddings as given. Source: musgrave2020 eq. 1, averaged as its authors' code does;
    `contrastive_euclidean` averages all pairs together.

    Args:
        margin: distance below which a negative pair is pushed apart.
        positive_margin: distance above which a positive pair is pulled together.
    """

    margin: float = 1
    positive_margin: float = 0

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        positive, negative = tuples or all_pairs(labels)
        pull = (d - self.positive_margin).relu() * indicator(positive, d.dtype)
        push = (self.margin - d).relu() * indicator(negative, d.dtype)
        return mean_of_nonzero(pull) + mean_of_nonzero(push)

"""Contrastive loss on Euclidean distances."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class ContrastiveEuclidean(Loss):
    """Mean over pairs of [d - positive_margin]_+ if positive, [margin - d]_+ if negative.

    d is the Euclidean distance of the embeddings as given. Source: roth2020 eq. 1 (its positive
    margin is 0); musgrave2020 eq. 1, which the study ran as `contrastive_balanced`.

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
        pull = total((d - self.positive_margin).relu(), positive)
        push = total((self.margin - d).relu(), negative)
        return (pull + push) / (positive.sum() + negative.sum()).clamp_min(1)

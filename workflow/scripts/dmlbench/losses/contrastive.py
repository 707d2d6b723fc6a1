"""Contrastive loss on cosine similarities."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class Contrastive(Loss):
    """Mean over the pairs of -S_ij for a positive pair and [S_ij - margin]_+ for a negative one.

    S is the cosine similarity. Source: psomas2020 eq. 2.15. The Euclidean forms of
    the other studies are `contrastive_euclidean`, `contrastive_balanced`, `contrastive_squared`
    and `contrastive_squared_distance`.

    Args:
        margin: similarity above which a negative pair is pushed apart.
    """

    margin: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, negative = tuples or all_pairs(labels)
        loss = total((S - self.margin).relu(), negative) - total(S, positive)
        return loss / (positive.sum() + negative.sum()).clamp_min(1)

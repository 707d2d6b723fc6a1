"""Lifted structure loss on cosine similarities."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities
from dmlbench.losses._lifted import lifted_structure
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class LiftedStructure(Loss):
    """Mean over positive pairs of 1/2 [log(sum_k e^S_ik + sum_l e^S_jl) + margin - S_ij]_+^2.

    k runs over the negatives of i, l over those of j; S is the cosine similarity.
    Source: Oh Song et al. 2016, eq. 4, with -S instead of the distance. psomas2020 eq. 2.21 cites
    that paper and prints another loss, one term per anchor instead of one per positive pair, not
    squared: `lifted_structure_per_anchor`.

    Args:
        margin: by how much a positive should be more similar than the softly nearest negative.
    """

    margin: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        far = -cosine_similarities(embeddings)
        return lifted_structure(far, self.margin, tuples or all_pairs(labels))

"""Lifted structure loss on Euclidean distances."""

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._lifted import lifted_structure
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class LiftedStructureEuclidean(Loss):
    """Mean over positive pairs of 1/2 [log(sum_k e^(m - d_ik) + sum_l e^(m - d_jl)) + d_ij]_+^2.

    k runs over the negatives of i, l over those of j, m is the margin, d the Euclidean distance
    of the embeddings as given. Source: Oh Song et al. 2016 eq. 4, which can2019 table 1 runs.

    Args:
        margin: distance that negatives should keep.
    """

    margin: float = 1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        return lifted_structure(d, self.margin, tuples or all_pairs(labels))

"""Triplet loss on cosine similarities."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities
from dmlbench.losses._loss import Loss
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets


class Triplet(Loss):
    """Mean over the triplets of [S_an - S_ap + margin]_+, S the cosine similarity.

    Source: psomas2020 eq. 2.17. The study mines semi-hard negatives (eq. 2.20). On Euclidean
    distances it is `ranking` (roth2020 eq. 2, karaman2021 eq. 2.5), on their squares `facenet`
    (can2019 eq. 3.3, karaman2021 eq. 2.7), averaged as musgrave2020's code does `triplet_nonzero`.

    Args:
        margin: by how much a positive should be more similar than a negative.
    """

    margin: float = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        S = cosine_similarities(embeddings)
        total, _, triplets = triplet_hinge(-S, labels, self.margin, tuples)
        return total / triplets.clamp_min(1)

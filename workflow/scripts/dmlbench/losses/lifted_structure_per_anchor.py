"""Lifted structure loss with one term per anchor, on cosine similarities."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, log_sum_exp
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class LiftedStructurePerAnchor(Loss):
    """Mean over anchors of [log sum_j e^(margin - S_ij) + log sum_k e^S_ik]_+.

    j runs over the positives of i (not i itself), k over its negatives; S is the cosine
    similarity. An anchor without positives or without negatives counts 0.
    Source: psomas2020 eq. 2.21 as printed, its trailing + read as the hinge, its sum over the
    batch divided by B. On similarities it pulls positives and pushes negatives; with distances for
    S it would do the opposite. `lifted_structure` is the loss of the paper that the equation cites.

    Args:
        margin: by how much a positive should be more similar than a negative.
    """

    mean_over_anchors = True

    margin: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, negative = tuples or all_pairs(labels)
        pull = log_sum_exp(self.margin - S, positive)
        push = log_sum_exp(S, negative)
        return (pull + push).relu().mean()

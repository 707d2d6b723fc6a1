"""Lifted structure loss with one scale for positives and another for negatives."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, log_sum_exp
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class LiftedStructureTwoScales(Loss):
    """Mean over anchors of 2/beta log sum_j e^(-beta S_ij) + 2/alpha log sum_k e^(alpha S_ik).

    j runs over the positives of i (not i itself), k over its negatives; S is the cosine
    similarity. There is neither margin nor hinge, so the loss may be negative; an anchor without
    positives or without negatives counts 0. Source: the public code of psomas2020, which mines
    pairs as the miner `multi_similarity` does. Its text prints `lifted_structure_per_anchor`.

    Args:
        alpha: sharpness of the negatives' log-sum-exp.
        beta: sharpness of the positives' log-sum-exp.
    """

    mean_over_anchors = True

    alpha: Positive = 40
    beta: Positive = 2

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, negative = tuples or all_pairs(labels)
        pull = log_sum_exp(-self.beta * S, positive) / self.beta
        push = log_sum_exp(self.alpha * S, negative) / self.alpha
        both = positive.any(1) & negative.any(1)
        return 2 * torch.where(both, pull + push, 0).mean()

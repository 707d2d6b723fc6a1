"""Supervised contrastive loss."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, indicator, log_sum_exp
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class SupervisedContrastive(Loss):
    """Mean over anchors, and their positives, of -log softmax(S / temperature).

    S is the cosine similarity; the softmax of an anchor is over its positives and negatives.
    Anchors without positives are left out.
    Source: Khosla et al. 2020 eq. 2 (L_out), a sum over anchors there. The authors' public code
    multiplies the mean by temperature / 0.07, and is NaN if an anchor has no positive.

    Args:
        temperature: divisor of the similarities.
    """

    temperature: Positive = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        logits = cosine_similarities(embeddings) / self.temperature
        positive, negative = tuples or all_pairs(labels)
        positives = positive.sum(1)
        has_positive = (positives > 0).to(logits.dtype)
        own = (logits * indicator(positive, logits.dtype)).sum(1) / positives.clamp_min(1)
        loss = (log_sum_exp(logits, positive | negative) - own) * has_positive
        return loss.sum() / has_positive.sum().clamp_min(1)

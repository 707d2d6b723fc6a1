"""MultiSimilarity loss."""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, log_one_plus_sum_exp
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class MultiSimilarity(Loss):
    """Mean over anchors of a soft pull on far positives and a soft push on near negatives.

    1/alpha log(1 + sum_j e^(-alpha (S_ij - margin))) over the positives j of i, plus
    1/beta log(1 + sum_k e^(beta (S_ik - margin))) over its negatives k; S is the cosine
    similarity. Source: psomas2020 eq. 2.24, roth2020 eq. 12 (beta 40). Its pair mining is the miner
    `multi_similarity`.

    Args:
        alpha: sharpness of the positives' log-sum-exp.
        beta: sharpness of the negatives' log-sum-exp.
        margin: similarity around which pairs begin to count.
    """

    mean_over_anchors = True

    alpha: Positive = 2
    beta: Positive = 50
    margin: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        above = cosine_similarities(embeddings) - self.margin
        positive, negative = tuples or all_pairs(labels)
        pull = log_one_plus_sum_exp(-self.alpha * above, positive) / self.alpha
        push = log_one_plus_sum_exp(self.beta * above, negative) / self.beta
        return (pull + push).mean()

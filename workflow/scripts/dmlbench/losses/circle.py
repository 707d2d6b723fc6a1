"""Circle loss."""

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import cosine_similarities, log_sum_exp
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class Circle(Loss):
    """Mean over anchors of log(1 + sum_n e^N_n sum_p e^P_p), softly S_p > 1 - m and S_n < m.

    N = gamma a_n (S_n - m) and P = -gamma a_p (S_p - 1 + m) over the negatives n and positives p;
    S is the cosine similarity, m the margin; the weights a_p = [1 + m - S_p]_+ and
    a_n = [S_n + m]_+ get no gradient. An anchor without positives or without negatives counts 0.
    Source: Sun et al. 2020 eq. 4-8, per anchor.

    Finite differences of the loss include the weights' share, which its gradient leaves out: so
    `torch.autograd.gradcheck` must fail, unless the weights are held constant, as they are in
    second derivatives.

    Args:
        margin: relaxation of the optima 1 and 0 of positive and negative similarity.
        gamma: factor on the similarities.
    """

    mean_over_anchors = True

    margin: float = 0.4
    gamma: Positive = 80

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S, m = cosine_similarities(embeddings), self.margin
        positive, negative = tuples or all_pairs(labels)
        fixed = S.detach()
        pull = (-self.gamma * (1 + m - fixed).relu()) * (S - (1 - m))
        push = (self.gamma * (fixed + m).relu()) * (S - m)
        return softplus(log_sum_exp(pull, positive) + log_sum_exp(push, negative)).mean()

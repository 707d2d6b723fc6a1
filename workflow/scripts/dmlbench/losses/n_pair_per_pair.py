"""N-pair loss with one logarithm per positive pair."""

from typing import Annotated, Literal

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import dot_products, log_sum_exp, total
from dmlbench.losses._lengths import mean_length
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, NotNegative


class NPairPerPair(Loss):
    """Sum over positive pairs of log(1 + sum_n e^(S_an - S_ap)), over B, plus l2 mean |x|^2.

    n runs over the negatives of a; S is the dot product of the embeddings as given, which the
    study does not normalize. Source: roth2020 eq. 4 (its phi_n, printed without the star, is
    read as not normalized either). `n_pair` has one logarithm per anchor.

    Args:
        l2: weight of the mean squared length of the embeddings (nu in the paper).
        lengths: "plain" for the mean length instead, as in the public code of roth2020.
    """

    mean_over_anchors = True

    l2: NotNegative = 0.005
    lengths: Annotated[Literal["squared", "plain"], Added()] = "squared"

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = dot_products(embeddings)
        positive, negative = tuples or all_pairs(labels)
        loss = softplus(log_sum_exp(S, negative)[:, None] - S)
        size = mean_length(embeddings, self.lengths)
        return total(loss, positive) / len(labels) + self.l2 * size

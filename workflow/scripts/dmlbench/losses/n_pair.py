"""N-pair loss."""

from typing import Annotated

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import dot_products, log_sum_exp, widened
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, NotNegative, Positive


class NPair(Loss):
    """Mean over anchors of log(1 + sum_j,k e^(S_ik - S_ij)), plus l2 times the mean of |x_i|^2.

    j runs over the positives of i, k over its negatives; S is the dot product of the embeddings
    as given, times a scale. On normalized ones the l2 term is a constant, and at scale 1, the
    equation as printed, not even perfect embeddings take a term below log(1 + J K e^-2).
    Source: psomas2020 eq. 2.22, where all positives of an anchor share one logarithm;
    `n_pair_per_pair` has one for each (roth2020 eq. 4), `n_pair_one_per_class` is the original.

    Args:
        l2: weight of the mean squared length of the embeddings.
        scale: factor of the dot products, an inverse temperature.
    """

    mean_over_anchors = True

    l2: NotNegative = 0.02
    scale: Annotated[Positive, Added()] = 1

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = self.scale * dot_products(embeddings)
        positive, negative = tuples or all_pairs(labels)
        loss = softplus(log_sum_exp(S, negative) + log_sum_exp(-S, positive)).mean()
        return loss + self.l2 * widened(embeddings).square().sum(1).mean()

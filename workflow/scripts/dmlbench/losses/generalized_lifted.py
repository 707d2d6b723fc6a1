"""Generalized lifted structure loss."""

from typing import Annotated, Literal

from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, log_sum_exp
from dmlbench.losses._lengths import mean_length
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, NotNegative


class GeneralizedLifted(Loss):
    """Mean over anchors of [log sum_p e^d_ap + log sum_n e^(margin - d_an)]_+, plus l2 mean |x|^2.

    p runs over the positives of a (not a itself), n over its negatives; d is the Euclidean
    distance of the embeddings as given, which the study does not normalize. An anchor without
    positives or without negatives counts 0.
    Source: roth2020 eq. 3, whose first sum is also divided by B here, as its second is there;
    Hermans et al. 2017.

    Args:
        margin: distance that negatives should keep.
        l2: weight of the mean squared length of the embeddings (nu in the paper).
        lengths: "plain" for the mean length instead, as in the public code of roth2020.
    """

    mean_over_anchors = True

    margin: float = 1
    l2: NotNegative = 0.005
    lengths: Annotated[Literal["squared", "plain"], Added()] = "squared"

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        positive, negative = tuples or all_pairs(labels)
        far = log_sum_exp(d, positive)
        near = log_sum_exp(self.margin - d, negative)
        size = mean_length(embeddings, self.lengths)
        return (far + near).relu().mean() + self.l2 * size

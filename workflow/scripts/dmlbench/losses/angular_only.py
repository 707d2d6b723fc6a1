"""Angular loss."""

from typing import Annotated

from torch import Tensor

from dmlbench.losses._angular import angular_terms
from dmlbench.losses._geometry import cosine_similarities, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Interval


class AngularOnly(Loss):
    """Mean over positive pairs of log(1 + sum_n exp(4 t (x_a + x_p) x_n - 2 (1 + t) x_a x_p)).

    t = tan(alpha)^2, n runs over the negatives of a, x is normalized. Source: Wang et al. 2017
    eq. 8, which can2019 table 1 runs. `angular` combines it with the N-pair loss.

    Args:
        alpha: largest angle at the negative, in degrees, in (0, 60].
    """

    alpha: Annotated[float, Interval(ge=1e-3, le=60)] = 45

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        pairs = tuples or all_pairs(labels)
        terms = angular_terms(cosine_similarities(embeddings), self.alpha, pairs)
        return total(terms, pairs.positive) / pairs.positive.sum().clamp_min(1)

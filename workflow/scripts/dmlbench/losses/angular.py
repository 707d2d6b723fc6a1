"""Angular loss combined with the N-pair loss."""

from typing import Annotated, Literal

from torch import Tensor

from dmlbench.losses._angular import angular_terms
from dmlbench.losses._geometry import cosine_similarities, total
from dmlbench.losses._loss import Loss
from dmlbench.losses.n_pair_per_pair import NPairPerPair
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, Interval, NotNegative


class Angular(Loss):
    """N-pair loss plus weight / B times the sum over positive pairs of the angular term.

    The angular term is log(1 + sum_n exp(4 t (x_a + x_p) x_n - 2 (1 + t) x_a x_p)) with
    t = tan(alpha)^2, over the negatives n of a, x normalized. The N-pair loss sees the
    embeddings as given. Source: roth2020 eq. 5, its garbled exponent from Wang et al. 2017 eq. 8.
    The angular term alone is `angular_only`.

    Args:
        alpha: largest angle at the negative, in degrees, in (0, 60].
        weight: weight of the angular term (lambda in the paper).
        l2: weight of the mean squared length of the embeddings in the N-pair loss.
        lengths: "plain" for the mean length instead, as in the public code of roth2020.
    """

    mean_over_anchors = True

    alpha: Annotated[float, Interval(ge=1e-3, le=60)] = 45
    weight: NotNegative = 2
    l2: NotNegative = 0.005
    lengths: Annotated[Literal["squared", "plain"], Added()] = "squared"

    def __post_init__(self):
        self.n_pair = NPairPerPair(l2=self.l2, lengths=self.lengths)

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        pairs = tuples or all_pairs(labels)
        terms = angular_terms(cosine_similarities(embeddings), self.alpha, pairs)
        angular = total(terms, pairs.positive) / len(labels)
        return self.n_pair(embeddings, labels, pairs) + self.weight * angular

"""Signal-to-noise contrastive loss."""

from torch import Tensor

from dmlbench.losses._geometry import indicator, widened
from dmlbench.losses._loss import Loss
from dmlbench.losses._margin import mean_of_nonzero
from dmlbench.losses._snr import snr_distances
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import NotNegative


class SNRContrastive(Loss):
    """Mean of [r - positive_margin]_+ over positive pairs, plus of [margin - r]_+ over negative.

    r_ij = var(x_i - x_j) / var(x_i) over the coordinates, noise over signal, of the embeddings as
    given. Each mean is over the pairs with a loss above 0. Source: Yuan et al. 2019, averaged as
    the code behind musgrave2020 does.

    Args:
        margin: ratio below which a negative pair is pushed apart.
        positive_margin: ratio above which a positive pair is pulled together.
        weight: weight of the mean of |sum_m x_im|, which pulls the coordinates to mean zero.
    """

    margin: float = 1
    positive_margin: float = 0
    weight: NotNegative = 0

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        x = widened(embeddings)
        mean = x.mean(1, keepdim=True)
        r = snr_distances(x - mean)
        positive, negative = tuples or all_pairs(labels)
        pull = (r - self.positive_margin).relu() * indicator(positive, r.dtype)
        push = (self.margin - r).relu() * indicator(negative, r.dtype)
        loss = mean_of_nonzero(pull) + mean_of_nonzero(push)
        return loss + self.weight * x.sum(1).abs().mean()

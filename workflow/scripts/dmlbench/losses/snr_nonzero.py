"""Signal-to-noise triplet loss of variances, averaged over the triplets that violate the margin."""

from torch import Tensor

from dmlbench.losses._geometry import widened
from dmlbench.losses._loss import Loss
from dmlbench.losses._snr import snr_distances
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets
from dmlbench.values import NotNegative


class SnrNonzero(Loss):
    """Mean of [r_ap - r_an + margin]_+ above 0, plus weight times the mean of |sum_m x_im|.

    r_ij = Var(x_i - x_j) / Var(x_i), variances over the coordinates of the embeddings as given; the
    second term pulls their coordinates to mean zero. Source: the public code of roth2020, whose
    second term is absent with distance-weighted tuples; its text has sums of squares instead of
    variances, and the mean over all triplets: `snr`.

    Args:
        margin: by how much a negative's ratio should exceed a positive's.
        weight: weight of the zero-mean term.
    """

    margin: float = 0.2
    weight: NotNegative = 0.005

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        x = widened(embeddings)
        ratios = snr_distances(x - x.mean(1, keepdim=True))
        total, active, _ = triplet_hinge(ratios, labels, self.margin, tuples)
        return total / active.clamp_min(1) + self.weight * x.sum(1).abs().mean()

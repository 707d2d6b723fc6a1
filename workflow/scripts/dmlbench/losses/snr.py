"""Signal-to-noise triplet loss."""

from torch import Tensor

from dmlbench.losses._geometry import widened
from dmlbench.losses._loss import Loss
from dmlbench.losses._snr import snr_distances
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets
from dmlbench.values import NotNegative


class SNR(Loss):
    """Mean over triplets of [r_ap - r_an + margin]_+, plus weight times the mean of |sum_m x_im|.

    r_ij = |x_i - x_j|^2 / |x_i|^2, noise over signal, of the embeddings as given; the second term
    pulls their coordinates to mean zero. Source: roth2020 eq. 15 with the squares that its
    numerators lack (Yuan et al. 2019), its sum over triplets divided by their number.

    Args:
        margin: by how much a negative's ratio should exceed a positive's.
        weight: weight of the zero-mean term (lambda in the paper).
    """

    margin: float = 0.2
    weight: NotNegative = 0.005

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        x = widened(embeddings)
        total, _, triplets = triplet_hinge(snr_distances(x), labels, self.margin, tuples)
        return total / triplets.clamp_min(1) + self.weight * x.sum(1).abs().mean()

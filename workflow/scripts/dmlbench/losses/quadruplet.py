"""Quadruplet loss."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import euclidean_distances, indicator
from dmlbench.losses._loss import Loss
from dmlbench.losses._quadruplets import quadruplet_hinge
from dmlbench.losses._triplets import triplet_hinge
from dmlbench.tuples import Triplets


class Quadruplet(Loss):
    """Mean of [d_ij - d_ik + margin]_+ over triplets, plus of [d_ij - d_lk + margin_2]_+.

    i and j share a class; k and l are of two other classes; d is the Euclidean distance of the
    embeddings as given. Over the triplets of a miner, one l per triplet is drawn from torch's
    global generator, and the term is left out if l is in the class of i or k; without a miner, both
    means are over all of the batch. Source: roth2020 eq. 14, whose second hinge prints d_ik for
    d_ij and so compares two negative pairs; Chen et al. 2017 has d_ij.

    Args:
        margin: by how much a negative of i should be farther than a positive.
        margin_2: by how much any negative pair should be farther apart than a positive pair.
    """

    margin: float = 1
    margin_2: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all triplets."""
        d = euclidean_distances(embeddings)
        total, _, triplets = triplet_hinge(d, labels, self.margin, tuples)
        if tuples is None:
            second, quadruplets = quadruplet_hinge(d, labels, self.margin_2)
        else:
            second, quadruplets = self._drawn(d, labels, tuples)
        return total / triplets.clamp_min(1) + second / quadruplets.clamp_min(1)

    def _drawn(self, d: Tensor, labels: Tensor, tuples: Triplets) -> tuple[Tensor, Tensor]:
        k = tuples.negative
        drawn = torch.randint_like(k, len(labels))
        y = labels[drawn]
        other = (y != labels[:, None]) & (y != labels[k]) & tuples.valid
        hinge = (d - d[drawn, k] + self.margin_2).relu() * indicator(other, d.dtype)
        return hinge.sum(), other.sum()

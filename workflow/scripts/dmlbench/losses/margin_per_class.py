"""Margin loss with a learnable boundary for each class."""

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._margin import margin_loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Positive


class MarginPerClass(nn.Module):
    """[d_ij - beta_c + margin]_+ for a positive pair, [beta_c - d_ij + margin]_+ for a negative.

    c is the class of anchor i; d is the Euclidean distance of the embeddings as given; the sum is
    divided by the number of pairs with a loss above 0. As `margin`, with one learned beta per
    class.
    Source: Wu et al. 2017 section 4.2 (class-specific beta).

    Args:
        num_classes: number of classes C.
        margin: half-width of the band between positive and negative pairs.
        beta: initial boundary of every class, a Euclidean distance.
    """

    def __init__(self, num_classes: int, *, margin: float = 0.2, beta: Positive = 1.2):
        super().__init__()
        self.margin = margin
        self.beta = nn.Parameter(torch.full((num_classes,), float(beta)))

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        beta = self.beta[labels][:, None]
        return margin_loss(d, beta, self.margin, tuples or all_pairs(labels))

"""Margin loss with one boundary, learnable or fixed."""

from typing import Annotated

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._margin import margin_loss
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, Positive

FORMERLY = {"margin_fixed_beta": {"learned": False}}


class Margin(nn.Module):
    """[d_ij - beta + margin]_+ for a positive pair, [beta - d_ij + margin]_+ for a negative one.

    d is the Euclidean distance of the embeddings as given; the sum is divided by the number of
    pairs with a loss above 0; beta is one for all classes.
    Source: Wu et al. 2017 section 4.2; roth2020 eq. 10 (whose hinge is not printed); can2019
    eq. 3.4. psomas2020 eq. 2.23 writes it on similarities, where its boundary of 1.2 could never be
    reached: it is a distance; `margin_similarity` follows the equation literally.

    Args:
        margin: half-width of the band between positive and negative pairs.
        beta: boundary, a Euclidean distance.
        learned: whether training changes beta.
    """

    def __init__(
        self,
        *,
        margin: float = 0.5,
        beta: Positive = 1.2,
        learned: Annotated[bool, Added()] = True,
    ):
        super().__init__()
        self.margin = margin
        self.beta = nn.Parameter(torch.tensor(float(beta))) if learned else beta

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        d = euclidean_distances(embeddings)
        return margin_loss(d, self.beta, self.margin, tuples or all_pairs(labels))

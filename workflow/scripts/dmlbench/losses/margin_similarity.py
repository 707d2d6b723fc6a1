"""Margin loss on cosine similarities."""

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import cosine_similarities
from dmlbench.losses._margin import margin_loss
from dmlbench.tuples import Pairs, all_pairs


class MarginSimilarity(nn.Module):
    """[beta - S_ij + margin]_+ for a positive pair, [S_ij - beta + margin]_+ for a negative one.

    S is the cosine similarity; the sum is divided by the number of pairs with a loss above 0;
    beta is learned. Source: psomas2020 eq. 2.23, read with -1 for a negative pair, where it
    prints 0 and so a constant. Its table's boundary of 1.2 suits distances (`margin`), never
    similarities: the default here is the similarity at that distance, 1 - 1.2^2 / 2.

    Args:
        margin: half-width of the band between positive and negative pairs.
        beta: initial boundary, a similarity.
    """

    def __init__(self, *, margin: float = 0.5, beta: float = 0.28):
        super().__init__()
        self.margin = margin
        self.beta = nn.Parameter(torch.tensor(float(beta)))

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        far = -cosine_similarities(embeddings)
        return margin_loss(far, -self.beta, self.margin, tuples or all_pairs(labels))

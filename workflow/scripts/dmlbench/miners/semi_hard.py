"""Semi-hard mining: the hardest of the semi-hard negatives for each anchor and positive."""

from typing import Annotated

import torch
from torch import Tensor

from dmlbench.miners._geometry import similarities
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Part


class SemiHard(Part):
    """For each anchor a and positive p, the most similar negative that is less similar than p.

    n_ap = argmax over {n : S_ap > S_an} of S_an, with S the dot product: psomas2020, equation
    2.20. The other semi-hard definition, one at random, is `semi_hard_random`.

    A pair (a, p) without such a negative gives no triplet (the equation is silent about it).

    Args:
        centered: whether similarities are computed about the middle of the batch.
    """

    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each positive pair."""
        similarity = similarities(embeddings, centered=self.centered)
        positive, negative = all_pairs(labels)
        ascending, order = similarity.masked_fill(~negative, torch.inf).sort(dim=1)
        # Other pairs search below -inf: they find no negative, at no cost.
        less_similar = torch.searchsorted(ascending, similarity.masked_fill(~positive, -torch.inf))
        hardest = order.gather(1, (less_similar - 1).clamp(min=0))
        return Triplets(negative=hardest, valid=less_similar > 0)

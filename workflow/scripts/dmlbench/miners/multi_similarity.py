"""The pair mining of the MultiSimilarity loss."""

from typing import Annotated

import torch
from torch import Tensor

from dmlbench.miners._geometry import similarities
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Added, Interval, Part


class MultiSimilarity(Part):
    """Negatives nearly as similar as the hardest positive, and conversely for positives.

    A negative n of anchor a is kept when S_an > min_p S_ap - epsilon, a positive p when
    S_ap < max_n S_an + epsilon, with S the dot product: roth2020, equation 11 (musgrave2020,
    section 1.4, describes it the other way round). An anchor without positives keeps no negative,
    and one without negatives keeps no positive.

    Args:
        epsilon: slack, in units of similarity; finite. 0.1 in psomas2020 and roth2020.
        itself: whether an anchor is among its positives, where a negative is more similar than
            1 - epsilon. So it is in pytorch-metric-learning 0.9, which the public code of
            musgrave2020 and psomas2020 calls; versions 2.8.1 and 2.9.0 keep no such pair.
        centered: whether similarities are computed about the middle of the batch.
    """

    epsilon: Annotated[float, Interval(ge=-2, le=2)] = 0.1
    itself: Annotated[bool, Added()] = False
    centered: Annotated[bool, Added(preferred=True)] = False

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to the pairs that are kept."""
        similarity = similarities(embeddings, centered=self.centered)
        positive, negative = all_pairs(labels)
        hardest_positive = similarity.masked_fill(~positive, torch.inf).amin(1, keepdim=True)
        hardest_negative = similarity.masked_fill(~negative, -torch.inf).amax(1, keepdim=True)
        if self.itself:
            positive = positive.clone().fill_diagonal_(True)
        return Pairs(
            positive=positive & (similarity < hardest_negative + self.epsilon),
            negative=negative & (similarity > hardest_positive - self.epsilon),
        )

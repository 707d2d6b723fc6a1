"""Random mining: a random positive and a random negative for each anchor."""

from typing import Literal

from torch import Tensor

from dmlbench.miners._draw import choose_positives, draw_columns
from dmlbench.tuples import Triplets, all_pairs


class Random:
    """Each anchor gets positives and negatives drawn uniformly: roth2020, appendix A.2.

    An anchor without a positive or without a negative gives no triplet. Draws come from torch's
    global generator of the embeddings' device.

    Args:
        positives: "one" positive of each anchor, drawn at random (roth2020), or "all", each with
            a negative of its own.
    """

    def __init__(self, *, positives: Literal["all", "one"] = "one"):
        self.positives = positives

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each chosen positive pair."""
        positive, negative = all_pairs(labels)
        valid = choose_positives(positive, self.positives) & negative.any(1, keepdim=True)
        return Triplets(negative=draw_columns(negative, valid), valid=valid)

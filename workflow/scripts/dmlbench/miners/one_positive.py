"""One random positive of each anchor, and all of its negatives."""

from torch import Tensor

from dmlbench.miners._draw import choose_positives
from dmlbench.tuples import Pairs, all_pairs


class OnePositive:
    """For each anchor, one positive drawn uniformly, and every negative.

    So the public code of roth2020 makes the tuples of NPair and Angular, with any number of images
    per class. An anchor without positives keeps no negative. Draws come from torch's global
    generator of the embeddings' device.
    """

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to the pairs that are kept."""
        positive, negative = all_pairs(labels)
        return Pairs(
            positive=choose_positives(positive, "one"),
            negative=negative & positive.any(1, keepdim=True),
        )

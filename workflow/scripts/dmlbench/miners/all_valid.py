"""No mining: every valid pair of the batch, and with them every valid triplet."""

from torch import Tensor

from dmlbench.tuples import Pairs, all_pairs


class AllValid:
    """Every positive and every negative pair of the batch.

    A triplet loss that is given these pairs sees all valid triplets (karaman2021, section 4.1).
    """

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to all pairs."""
        return all_pairs(labels)

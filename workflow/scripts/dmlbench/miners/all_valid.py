"""No mining: every valid pair of the batch."""

from torch import Tensor

from dmlbench.tuples import Pairs, all_pairs


class AllValid:
    """Every positive and every negative pair of the batch: what a pair loss uses without a miner.

    Triplet losses without a miner use all valid triplets (karaman2021, section 4.1).
    """

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Pairs:
        """Embeddings [B, D] and labels [B] to all pairs."""
        return all_pairs(labels)

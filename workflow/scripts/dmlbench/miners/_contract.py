"""What every miner accepts, and how it computes, in one place."""

from collections.abc import Callable

from torch import Tensor

from dmlbench.tensors import HALF, check_embeddings, checked_labels, outside_autocast
from dmlbench.tuples import Pairs, Triplets


class Contract:
    """A miner that checks its batch, and compares without gradient and in full precision.

    - Embeddings are [B, D], floating, dense, with B and D of at least 1. Half precision is widened
      to float32, and autocast has no effect.
    - Labels are [B], of any integer type, on the embeddings' device. Lists and NumPy arrays are
      moved there.

    Args:
        miner: embeddings [B, D] and labels [B] to `Pairs` or `Triplets`.
    """

    def __init__(self, miner: Callable[[Tensor, Tensor], Pairs | Triplets]):
        self.miner = miner

    def __call__(self, embeddings: Tensor, labels) -> Pairs | Triplets:
        """The tuples of a batch.

        Raises:
            UserError: the batch violates the contract.
        """
        check_embeddings(embeddings)
        labels = checked_labels(labels, embeddings)
        embeddings = embeddings.detach()
        with outside_autocast(embeddings):
            return self.miner(
                embeddings.float() if embeddings.dtype in HALF else embeddings, labels
            )

"""Embedding L2: keeps unnormalized embeddings from growing."""

from torch import Tensor

from dmlbench.values import NotNegative, Part


class EmbeddingL2(Part):
    """weight / B times the sum of the squared norms of the embeddings.

    The term of generalized lifted structure and N-pair in roth2020 (equations 3 and 4, nu = 0.005)
    and of N-pair in psomas2020 (table 4, 0.02). On normalized embeddings it is a constant.

    Args:
        weight: >= 0.
    """

    acts_on = "embeddings"

    weight: NotNegative = 0.02

    def __call__(self, embeddings: Tensor) -> Tensor:
        """The penalty (scalar) of embeddings [B, D], in float32 at least."""
        embeddings = embeddings if embeddings.dtype.itemsize > 2 else embeddings.float()
        return self.weight * embeddings.square().sum(dim=1).mean()

"""How long the embeddings of a batch are: what losses on unnormalized embeddings keep small."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import widened


def mean_length(embeddings: Tensor, lengths: str) -> Tensor:
    """Mean of |x|^2 ("squared") or of |x| ("plain") over the rows x of [B, D], a scalar.

    The gradient of |x| at 0 is 0.
    """
    x = widened(embeddings)
    each = torch.linalg.vector_norm(x, dim=1) if lengths == "plain" else x.square().sum(1)
    return each.mean()

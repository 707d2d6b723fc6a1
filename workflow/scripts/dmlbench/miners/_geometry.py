"""Similarities, distances and masks of a batch, without gradient and in full precision."""

import torch
from torch import Tensor


def similarities(embeddings: Tensor) -> Tensor:
    """Dot products <x_i, x_j> of a batch [B, D]: [B, B], float32 at least, no gradient."""
    embeddings = _full_precision(embeddings)
    # Autocast would turn the product back into half precision.
    with torch.autocast(embeddings.device.type, enabled=False):
        return embeddings @ embeddings.T


def squared_distances(embeddings: Tensor) -> Tensor:
    """Squared Euclidean distances of a batch [B, D]: [B, B], >= 0, otherwise as `similarities`."""
    products = similarities(embeddings)
    norms = products.diagonal()
    return (norms[:, None] + norms[None, :] - 2 * products).clamp(min=0)


def _full_precision(embeddings: Tensor) -> Tensor:
    embeddings = embeddings.detach()
    return embeddings if embeddings.dtype == torch.float64 else embeddings.float()

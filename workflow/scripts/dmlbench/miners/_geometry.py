"""Similarities and distances of a batch, as miners compare them."""

from torch import Tensor


def similarities(embeddings: Tensor) -> Tensor:
    """Dot products <x_i, x_j> of a batch [B, D]: [B, B]."""
    return embeddings @ embeddings.T


def squared_distances(embeddings: Tensor) -> Tensor:
    """Squared Euclidean distances of a batch [B, D]: [B, B], >= 0."""
    products = similarities(embeddings)
    norms = products.diagonal()
    return (norms[:, None] + norms[None, :] - 2 * products).clamp(min=0)

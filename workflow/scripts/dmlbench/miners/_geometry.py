"""Similarities and distances of a batch, as miners compare them.

In single precision, products of embeddings that are close together differ by no more than they are
rounded: at a typical distance of 0.014 a third of what a miner chooses is chosen by chance.
`centered` ones are of embeddings less the one nearest to the mean of their batch, and so rounded
less; less the mean itself, equal distances would not stay equal.
"""

from torch import Tensor


def similarities(embeddings: Tensor, *, centered: bool) -> Tensor:
    """Dot products <x_i, x_j> of a batch [B, D]: [B, B]; if centered, each row less a constant."""
    if not centered:
        return embeddings @ embeddings.T
    center = _center(embeddings)
    moved = embeddings - center
    # <x_i, x_j> = <m_i, m_j> + <c, m_j> + what is the same for all j
    exact = center.double()
    of_center = embeddings.double() @ exact - exact @ exact
    return moved @ moved.T + of_center.to(embeddings.dtype)


def squared_distances(embeddings: Tensor, *, centered: bool) -> Tensor:
    """Squared Euclidean distances of a batch [B, D]: [B, B], >= 0."""
    if centered:
        embeddings = embeddings - _center(embeddings)
    products = embeddings @ embeddings.T
    norms = products.diagonal()
    return (norms[:, None] + norms[None, :] - 2 * products).clamp(min=0)


def _center(embeddings: Tensor) -> Tensor:
    """The embedding nearest to the mean of a batch [B, D]: [D]."""
    away = (embeddings - embeddings.mean(0)).square().sum(1)
    # an index that stays on its device
    return embeddings.index_select(0, away.argmin(0, keepdim=True)).squeeze(0)

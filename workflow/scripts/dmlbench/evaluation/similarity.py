"""The similarity that a distance ranks by."""


def similarity(queries, gallery, distance: str):
    """Exact similarities of [..., Q, D] and [..., M, D] vectors on the grid, [..., Q, M].

    Arrays or tensors of float64. Cosine: the inner product. Euclidean: <q, g> - |g|^2 / 2, which
    falls as |q - g| grows.
    """
    product = queries @ gallery.swapaxes(-1, -2)
    if distance == "euclidean":
        product -= (gallery * gallery).sum(-1)[..., None, :] / 2
    return product

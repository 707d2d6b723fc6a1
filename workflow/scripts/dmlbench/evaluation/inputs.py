"""Embeddings and labels as given, checked and put on the grid of exact arithmetic.

Ranks are defined by exact arithmetic: each embedding is brought to norm at most 1 in float64
(cosine: divided by its norm; Euclidean: all by one power of two) and rounded to multiples of
2^-24, which float32 holds. The inner product of two such vectors is a multiple of 2^-48 below
2^5 and hence exact in float64 whatever the order of summation: ranks depend on neither tiles,
threads nor device, and a tie is a tie.
"""

import sys
from typing import NamedTuple

import numpy as np

from dmlbench.errors import UserError

GRID = 2.0**24
DISTANCES = ("cosine", "euclidean")
_CHUNK = 1 << 20


class Side(NamedTuple):
    """Queries or gallery, sorted by class and then by id.

    Attributes:
        vectors: float32 [N, D], multiples of 2^-24 of norm at most 1.
        classes: int64 [N], ascending.
        age: int64 [N]; place of the row's id among all ids: lower wins a tie.
        row: int64 [N]; the row as the caller numbers it.
    """

    vectors: np.ndarray
    classes: np.ndarray
    age: np.ndarray
    row: np.ndarray


class Space(NamedTuple):
    """What is searched with and what is searched; the same Side twice if nothing else is given."""

    queries: Side
    gallery: Side
    own: bool
    distance: str


def read_space(
    embeddings,
    labels,
    *,
    gallery=None,
    gallery_labels=None,
    ids=None,
    gallery_ids=None,
    distance: str = "cosine",
) -> Space:
    """Check the caller's arrays and lay them out for the search; arguments as of `evaluate`.

    Raises:
        UserError: shapes that do not fit, rows that are not finite, an unknown distance.
    """
    if distance not in DISTANCES:
        raise UserError(f"distance {distance!r}; allowed: {', '.join(DISTANCES)}")
    own = gallery is None
    if own and (gallery_labels is not None or gallery_ids is not None):
        raise UserError("gallery_labels and gallery_ids need a gallery")
    if not own and gallery_labels is None:
        raise UserError("a gallery needs gallery_labels")
    rows = check_rows(embeddings, "embeddings")
    codes = _per_row(labels, "labels", len(rows))
    ages = _ages(ids, "ids", len(rows))
    if own:
        _, codes = np.unique(codes, return_inverse=True)
        side = _lay_out(rows, _shuffled(codes), ages, _scale([rows], distance))
        return Space(side, side, own, distance)
    gallery = check_rows(gallery, "gallery")
    if gallery.shape[1] != rows.shape[1]:
        raise UserError(
            f"gallery has {gallery.shape[1]} dimensions, embeddings have {rows.shape[1]}"
        )
    gallery_codes = _per_row(gallery_labels, "gallery_labels", len(gallery))
    _, both = np.unique(np.concatenate([codes, gallery_codes]), return_inverse=True)
    both = _shuffled(both)
    scale = _scale([rows, gallery], distance)
    gallery_ages = _ages(gallery_ids, "gallery_ids", len(gallery))
    return Space(
        _lay_out(rows, both[: len(rows)], ages, scale),
        _lay_out(gallery, both[len(rows) :], gallery_ages, scale),
        own,
        distance,
    )


def is_tensor(values) -> bool:
    """Whether these are a torch.Tensor; without loading torch, as no tensor comes before it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def check_rows(rows, name: str):
    """The given array or tensor, once it is [N, D] numbers, all finite.

    Raises:
        UserError: another shape, or rows with NaN or infinity, with their numbers.
    """
    if not is_tensor(rows):
        rows = np.asarray(rows)
    if rows.ndim != 2 or 0 in rows.shape:
        raise UserError(f"{name}: shape {tuple(rows.shape)}; allowed: [N, D] with N, D > 0")
    bad = []
    for begin, part in _parts(rows):
        finite = np.isfinite(part)
        if not finite.all():
            bad += (begin + np.flatnonzero(~finite.all(1))).tolist()
    if bad:
        named = ", ".join(map(str, bad[:10])) + (", ..." if len(bad) > 10 else "")
        raise UserError(f"{name}: {len(bad)} of {len(rows)} rows are not finite: {named}")
    return rows


def _per_row(values, name: str, length: int) -> np.ndarray:
    values = values.cpu().numpy() if is_tensor(values) else np.asarray(values)
    if values.shape != (length,):
        raise UserError(f"{name}: shape {values.shape}; allowed: ({length},), one a row")
    return values


def _ages(ids, name: str, length: int) -> np.ndarray:
    ages = np.arange(length)
    if ids is not None:
        ages[np.argsort(_per_row(ids, name, length), kind="stable")] = np.arange(length)
    return ages


def _shuffled(codes: np.ndarray) -> np.ndarray:
    """The same classes in a fixed random order, so that every tile looks like the whole."""
    return np.random.default_rng(0).permutation(codes.max() + 1)[codes]


def _scale(sides: list, distance: str) -> float | None:
    """The power of two that brings every norm to at most 1; None for cosine."""
    if distance == "cosine":
        return None
    longest = max(
        float(_norms(part.astype(np.float64)).max()) for side in sides for _, part in _parts(side)
    )
    return 2.0 ** -np.ceil(np.log2(longest)) if longest > 0 else 1.0


def _lay_out(rows, codes: np.ndarray, ages: np.ndarray, scale: float | None) -> Side:
    order = np.lexsort((ages, codes))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    vectors = np.empty(tuple(rows.shape), np.float32)
    for begin, part in _parts(rows):
        part = part.astype(np.float64)
        if scale is None:
            norm = _norms(part)
            part /= np.where(norm > 0, norm, 1.0)[:, None]
        else:
            part *= scale
        part *= GRID
        np.rint(part, out=part)
        part /= GRID
        vectors[place[begin : begin + len(part)]] = part
    return Side(vectors, codes[order], ages[order], order)


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("nd,nd->n", rows, rows))


def _parts(rows):
    """Some rows at a time, as arrays, with the number of the first."""
    step = max(1, _CHUNK // rows.shape[1])
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        if is_tensor(part):
            part = part.detach().cpu()
            # NumPy has no bfloat16.
            part = (part.float() if part.element_size() < 4 else part).numpy()
        yield begin, part

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
# Below this norm, the squares of a row's entries may underflow in float64.
_SHORT = 2.0**-256


class Side(NamedTuple):
    """Queries or gallery, sorted by class and then by id.

    Attributes:
        vectors: float32 [N, D], multiples of 2^-24 of norm at most 1.
        classes: int64 [N], ascending.
        tie_order: int64 [N]; rank of the row's id among all ids; the lower one wins an exact tie.
        row: int64 [N]; the caller's row number.
    """

    vectors: np.ndarray
    classes: np.ndarray
    tie_order: np.ndarray
    row: np.ndarray


class Space(NamedTuple):
    """Queries and gallery; the same Side twice if there is no separate gallery."""

    queries: Side
    gallery: Side
    own: bool
    distance: str


def class_runs(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """For each query, where its class begins and ends in the gallery, int64 [Q] each."""
    classes, wanted = space.gallery.classes, space.queries.classes
    return np.searchsorted(classes, wanted), np.searchsorted(classes, wanted, side="right")


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
    """Check the caller's arrays and arrange them for the search; for arguments see `evaluate`.

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
    tie_order = _tie_order(ids, "ids", len(rows))
    if own:
        _, codes = np.unique(codes, return_inverse=True)
        side = _lay_out(rows, _shuffled(codes), tie_order, _scale([rows], distance))
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
    gallery_tie_order = _tie_order(gallery_ids, "gallery_ids", len(gallery))
    return Space(
        _lay_out(rows, both[: len(rows)], tie_order, scale),
        _lay_out(gallery, both[len(rows) :], gallery_tie_order, scale),
        own,
        distance,
    )


def is_tensor(values) -> bool:
    """Whether these are a torch.Tensor; without loading torch, as no tensor exists before it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows [N, D] divided by their norms; a row of zeros stays unchanged."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)


def check_rows(rows, name: str):
    """The given array or tensor, once it is [N, D] real numbers, all finite.

    Raises:
        UserError: another shape or type, or rows with NaN or infinity, with their numbers.
    """
    if not is_tensor(rows):
        rows = _as_array(rows, name)
    if not _is_real(rows):
        raise UserError(f"{name}: values of type {rows.dtype}; allowed: real numbers")
    if rows.ndim != 2 or 0 in rows.shape:
        raise UserError(f"{name}: shape {tuple(rows.shape)}; allowed: [N, D] with N, D > 0")
    bad = []
    for begin, part in _parts(rows):
        finite = np.isfinite(part)
        if not finite.all():
            bad += (begin + np.flatnonzero(~finite.all(1))).tolist()
    if bad:
        raise UserError(f"{name}: {len(bad)} of {len(rows)} rows are not finite: {_some(bad)}")
    return rows


def _is_real(rows) -> bool:
    if is_tensor(rows):
        return not rows.is_complex()
    return rows.dtype.kind in "buif"


def _as_array(values, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise UserError(f"{name}: rows of unequal length; allowed: an array") from error


def _per_row(values, name: str, length: int) -> np.ndarray:
    """One value per row, all of them mutually comparable."""
    if is_tensor(values):
        values = values.detach().cpu()
        values = (values.double() if values.is_floating_point() else values).numpy()
    elif isinstance(values, list | tuple) and any(map(_is_missing, values)):
        # NumPy would turn a NaN among strings into the string "nan".
        values = np.array(values, object)
    else:
        values = _as_array(values, name)
    if values.shape != (length,):
        raise UserError(f"{name}: shape {values.shape}; allowed: ({length},), one per row")
    missing = np.flatnonzero(
        [_is_missing(value) for value in values] if values.dtype == object else values != values
    )
    if len(missing):
        raise UserError(
            f"{name}: {len(missing)} of {length} are missing (NaN or None): rows {_some(missing)}"
        )
    if values.dtype == object:
        try:
            np.sort(values)
        except TypeError as error:
            raise UserError(f"{name}: {error}; allowed: values of one type") from error
    return values


def _is_missing(value) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _some(numbers) -> str:
    return ", ".join(str(number) for number in numbers[:10]) + ", ..." * (len(numbers) > 10)


def _tie_order(ids, name: str, length: int) -> np.ndarray:
    tie_order = np.arange(length)
    if ids is not None:
        tie_order[np.argsort(_per_row(ids, name, length), kind="stable")] = np.arange(length)
    return tie_order


def _shuffled(codes: np.ndarray) -> np.ndarray:
    """The same classes in a fixed random order, so that every tile resembles the whole."""
    return np.random.default_rng(0).permutation(codes.max() + 1)[codes]


def _scale(sides: list, distance: str) -> int | None:
    """The exponent of the least power of two that no norm exceeds; None for cosine."""
    if distance == "cosine":
        return None
    exponent, mantissa = max(
        _longest(part.astype(np.float64)) for side in sides for _, part in _parts(side)
    )
    return exponent - (mantissa == 0.5)


def _longest(rows: np.ndarray) -> tuple[int, float]:
    """The largest norm of the rows as (e, m): it is m 2^e with m in [1/2, 1), or (-2000, 0)."""
    norm, shift = _norms(rows)
    mantissa, exponent = np.frexp(norm)
    exponent = np.where(mantissa > 0, exponent + shift, -2000)
    row = np.lexsort((mantissa, exponent))[-1]
    return int(exponent[row]), float(mantissa[row])


def _lay_out(rows, codes: np.ndarray, tie_order: np.ndarray, scale: int | None) -> Side:
    order = np.lexsort((tie_order, codes))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    vectors = np.empty(tuple(rows.shape), np.float32)
    for begin, part in _parts(rows):
        part = part.astype(np.float64)
        if scale is None:
            norm, _ = _norms(part)
            part /= np.where(norm > 0, norm, 1.0)[:, None]
        else:
            np.ldexp(part, -scale, out=part)
        part *= GRID
        np.rint(part, out=part)
        part /= GRID
        vectors[place[begin : begin + len(part)]] = part
    return Side(vectors, codes[order], tie_order[order], order)


def _norms(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Norms of float64 rows; rows whose squares overflow or vanish are scaled in place.

    Returns:
        norm: float64 [N]; the norms of the rows as they are now.
        shift: int64 [N]; a row was 2^shift times as long before. Powers of two scale exactly.
    """
    shift = np.zeros(len(rows), np.int64)
    with np.errstate(over="ignore"):
        norm = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    extreme = np.flatnonzero((norm < _SHORT) | np.isinf(norm))
    if len(extreme):
        some = rows[extreme]
        _, shift[extreme] = np.frexp(np.abs(some).max(1))
        some = np.ldexp(some, -shift[extreme, None])
        rows[extreme] = some
        norm[extreme] = np.sqrt(np.einsum("nd,nd->n", some, some))
    return norm, shift


def _parts(rows):
    """The rows in chunks, as arrays, each with the number of its first row."""
    step = max(1, _CHUNK // rows.shape[1])
    for begin in range(0, len(rows), step):
        part = rows[begin : begin + step]
        if is_tensor(part):
            part = part.detach().cpu()
            # NumPy has no bfloat16.
            part = (part.float() if part.element_size() < 4 else part).numpy()
        yield begin, part

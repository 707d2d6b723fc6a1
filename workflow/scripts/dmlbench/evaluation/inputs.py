"""Embeddings and labels as given, checked and put on the grid of exact arithmetic.

Ranks are defined by exact arithmetic: each embedding is brought to norm at most 1 in float64
(cosine: divided by its norm; Euclidean: all by one power of two) and rounded to multiples of
2^-24, which float32 holds. The inner product of two such vectors is a multiple of 2^-48 below
2^5 and hence exact in float64 whatever the order of summation: ranks depend on neither tiles,
threads nor device, and a tie is a tie.
"""

from typing import NamedTuple

import numpy as np

from dmlbench.errors import UserError
from dmlbench.evaluation.checks import check_rows, check_values, chunks, joint_codes

GRID = 2.0**24
DISTANCES = ("cosine", "euclidean")
# Below this norm, the squares of a row's entries may underflow in float64.
_SHORT = 2.0**-256
# Errors of dividing by a norm in float64 are far below this.
_NOISE = 2.0**-46
_SAMPLE = 1000


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


class Runs(NamedTuple):
    """For each query, a run of consecutive gallery images: begin and end, int64 [Q] each."""

    begin: np.ndarray
    end: np.ndarray

    def of(self, queries) -> "Runs":
        """The runs of some of the queries."""
        return Runs(self.begin[queries], self.end[queries])

    @property
    def length(self) -> np.ndarray:
        """Number of images in each run, int64 [Q]."""
        return self.end - self.begin

    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Each run's number and gallery image, run after run, int64 [sum of lengths] each."""
        run = np.repeat(np.arange(len(self.begin)), self.length)
        before = np.cumsum(self.length) - self.length
        return run, np.arange(len(run)) + np.repeat(self.begin - before, self.length)


class Space(NamedTuple):
    """Queries and gallery; the same Side twice if there is no separate gallery.

    Attributes:
        itself: the gallery images that are the query itself, which it must not find.
        own: there is no separate gallery.
        scale: rows were divided by 2^scale; None if each was divided by its norm.
    """

    queries: Side
    gallery: Side
    itself: Runs
    own: bool
    distance: str
    scale: int | None


def class_runs(space: Space) -> Runs:
    """For each query, where its class is in the gallery."""
    classes, wanted = space.gallery.classes, space.queries.classes
    return Runs(np.searchsorted(classes, wanted), np.searchsorted(classes, wanted, side="right"))


def similarity(queries, gallery, distance: str):
    """Exact similarities of [..., Q, D] and [..., M, D] vectors on the grid, [..., Q, M].

    Arrays or tensors of float64. Cosine: the inner product. Euclidean: <q, g> - |g|^2 / 2, which
    falls as |q - g| grows.
    """
    product = queries @ gallery.swapaxes(-1, -2)
    if distance == "euclidean":
        product -= (gallery * gallery).sum(-1)[..., None, :] / 2
    return product


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
        UserError: shapes that do not fit, rows that are not finite, an unknown distance, an id with
            two labels.
    """
    if distance not in DISTANCES:
        raise UserError(f"distance {distance!r}; allowed: {', '.join(DISTANCES)}")
    own = gallery is None
    if own and (gallery_labels is not None or gallery_ids is not None):
        raise UserError("gallery_labels and gallery_ids need a gallery")
    if not own and gallery_labels is None:
        raise UserError("a gallery needs gallery_labels")
    rows = check_rows(embeddings, "embeddings")
    labels = check_values(labels, "labels", len(rows))
    ids = None if ids is None else check_values(ids, "ids", len(rows))
    if own:
        _, codes = np.unique(labels, return_inverse=True)
        scale = _scale([rows], distance)
        side = _lay_out(rows, _shuffled(codes), _tie_order(ids, len(rows)), scale)
        places = np.arange(len(rows))
        return Space(side, side, Runs(places, places + 1), own, distance, scale)
    gallery = check_rows(gallery, "gallery")
    if gallery.shape[1] != rows.shape[1]:
        raise UserError(
            f"gallery has {gallery.shape[1]} dimensions, embeddings have {rows.shape[1]}"
        )
    gallery_labels = check_values(gallery_labels, "gallery_labels", len(gallery))
    if gallery_ids is not None:
        gallery_ids = check_values(gallery_ids, "gallery_ids", len(gallery))
    codes = _shuffled(np.concatenate(joint_codes(labels, gallery_labels, "labels")))
    scale = _scale([rows, gallery], distance)
    queries = _lay_out(rows, codes[: len(rows)], _tie_order(ids, len(rows)), scale)
    others = _lay_out(gallery, codes[len(rows) :], _tie_order(gallery_ids, len(gallery)), scale)
    itself = _itself(queries, others, ids, gallery_ids)
    return Space(queries, others, itself, own, distance, scale)


def _itself(queries: Side, gallery: Side, ids, gallery_ids) -> Runs:
    """The gallery images with a query's id; equal ids of one class are next to each other."""
    nowhere = np.zeros(len(queries.row), np.int64)
    if ids is None or gallery_ids is None:
        return Runs(nowhere, nowhere)
    codes, gallery_codes = joint_codes(ids[queries.row], gallery_ids[gallery.row], "ids")
    by_code = np.argsort(gallery_codes, kind="stable")
    same_id = Runs(
        *(np.searchsorted(gallery_codes[by_code], codes, side) for side in ("left", "right"))
    )
    query, entry = same_id.entries()
    other = queries.classes[query] != gallery.classes[by_code[entry]]
    if other.any():
        raise UserError(
            f"id {ids[queries.row[query[other]].min()]} is in the embeddings and in the gallery "
            f"with different labels ({len(np.unique(query[other]))} such queries); "
            "allowed: equal ids for the same image only"
        )
    begin = np.where(same_id.length > 0, by_code[np.minimum(same_id.begin, len(by_code) - 1)], 0)
    return Runs(begin, begin + same_id.length)


def count_copies(rows, gallery) -> int:
    """Number of rows of an array or tensor that are in the gallery digit for digit."""
    wanted, gallery_hashes = (
        [hash(row.tobytes()) for _, part in chunks(side) for row in part.astype(np.float64) + 0.0]
        for side in (rows, gallery)
    )
    return int(np.isin(wanted, gallery_hashes).sum())


def typical_distance(rows, space: Space) -> float:
    """Median distance between two of up to 1000 queries, at norm at most 1 but not rounded.

    Args:
        rows: array or tensor from which the space was read.
    """
    some = space.queries.row[:: max(1, len(rows) // _SAMPLE)]
    some = _shortened(rows[some], space.scale)
    median = np.median(np.linalg.norm(some - np.roll(some, len(some) // 2, axis=0), axis=1))
    # Dividing by norms makes such differences, dividing by a power of two none.
    return 0.0 if space.scale is None and median < _NOISE else float(median)


def about_mean(rows, gallery, space: Space) -> tuple[np.ndarray, np.ndarray | None]:
    """The space's rows and gallery, float64, moved so that the mean of the rows is the origin.

    Euclidean distance ranks them as the space's distance does: a shift changes no distance, and for
    unit vectors cosine ranks as Euclidean distance does.
    """
    sides = [_shortened(side, space.scale) for side in ([rows] if space.own else [rows, gallery])]
    mean = sides[0].mean(0)
    # Rounded, so that errors of dividing by norms do not separate rows of the same direction.
    moved = [np.rint((side - mean) / _NOISE) * _NOISE for side in sides]
    return moved[0], None if space.own else moved[1]


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows [N, D] divided by their norms; a row of zeros stays unchanged."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)


def _tie_order(ids: np.ndarray | None, length: int) -> np.ndarray:
    tie_order = np.arange(length)
    if ids is not None:
        tie_order[np.argsort(ids, kind="stable")] = np.arange(length)
    return tie_order


def _shuffled(codes: np.ndarray) -> np.ndarray:
    """The same classes in a fixed random order, so that every tile resembles the whole."""
    return np.random.default_rng(0).permutation(codes.max() + 1)[codes]


def _scale(sides: list, distance: str) -> int | None:
    """The exponent of the least power of two that no norm exceeds; None for cosine."""
    if distance == "cosine":
        return None
    exponent, mantissa = max(
        _longest(part.astype(np.float64)) for side in sides for _, part in chunks(side)
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
    for begin, part in chunks(rows):
        part = _short(part, scale)
        part *= GRID
        np.rint(part, out=part)
        part /= GRID
        vectors[place[begin : begin + len(part)]] = part
    return Side(vectors, codes[order], tie_order[order], order)


def _short(rows: np.ndarray, scale: int | None) -> np.ndarray:
    """The rows in float64, of norm at most 1: of norm 1, or divided by 2^scale."""
    rows = rows.astype(np.float64)
    if scale is not None:
        return np.ldexp(rows, -scale, out=rows)
    norm, _ = _norms(rows)
    rows /= np.where(norm > 0, norm, 1.0)[:, None]
    return rows


def _shortened(rows, scale: int | None) -> np.ndarray:
    return np.concatenate([_short(part, scale) for _, part in chunks(rows)])


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

"""Ranks from complete rows of the all-pairs product, by NumPy alone, for small spaces.

A row is sorted by one number per image: its exact similarity, a multiple of 2^-49 in [-1.5, 1.01],
plus 2^-50 for a positive. Float64 holds every such number.
"""

import sys

import numpy as np

from dmlbench.evaluation.inputs import Space, class_runs, similarity
from dmlbench.evaluation.retrieval import FAR

_POSITIVE = 2.0**-50
_ITSELF = -2.0
_BLOCK = 1 << 20

# A pair costs a product and a share of sorting, as much as a product of so many dimensions.
_SORTING = 64
_MOST_WITH_TORCH, _MOST_WITHOUT = 1 << 31, 1 << 35


def is_small(space: Space, memory: int) -> bool:
    """Whether complete rows take less time than the walk and, unless it is loaded, torch.

    Measured without torch, in CPU seconds (AMD EPYC, all metrics of CUB-200-2011): 5,924 images in
    64 dimensions 0.7 instead of 2.2, in 512 dimensions 1.4 instead of 2.7; 13,000 in 64 dimensions
    2.8 instead of 6.0.

    Args:
        memory: bytes that the gallery may take in float64.
    """
    rows, dim = space.queries.vectors.shape
    columns = len(space.gallery.vectors)
    most = _MOST_WITH_TORCH if "torch" in sys.modules else _MOST_WITHOUT
    return rows * columns * (dim + _SORTING) <= most and 8 * columns * dim <= memory


def full_ranks(
    space: Space, positives: np.ndarray, limit: np.ndarray, first_limit: np.ndarray
) -> np.ndarray | None:
    """Ranks of all positives of all queries, or None if one is exactly as near as a negative.

    Args:
        positives: int64 [Q]; their number.
        limit: int64 [Q]; ranks beyond it do not matter and are FAR.
        first_limit: int64 [Q]; the same for a query's nearest positive.

    Returns:
        int64 [P], query after query, ascending within a query.
    """
    start = np.cumsum(positives) - positives
    ranks = np.full(positives.sum(), FAR)
    gallery = space.gallery.vectors.astype(np.float64)
    scored = np.flatnonzero(positives)
    step = max(1, _BLOCK // len(gallery))
    for begin in range(0, len(scored), step):
        rows = scored[begin : begin + step]
        keys, nearest = _keys(space, rows, gallery)
        if (first_limit[rows] > limit[rows]).any():
            first = 1 + np.count_nonzero(keys > nearest, axis=1)
            if (keys == nearest - _POSITIVE).any():
                return None
            ranks[start[rows]] = np.where(first <= first_limit[rows], first, FAR)
        deepest = limit[rows].max()
        if deepest:
            top = _top(keys, deepest + 1)
            if _is_tied(top, keys):
                return None
            row, place = np.nonzero(top & 1)
            inside = place < limit[rows[row]]
            row, place = row[inside], place[inside]
            order = np.arange(len(row)) - np.searchsorted(row, row)
            ranks[start[rows[row]] + order] = place + 1
    return ranks


def _keys(space: Space, rows: np.ndarray, gallery: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the gallery for these queries, [B, M], and of their nearest positives, [B, 1]."""
    keys = similarity(space.queries.vectors[rows].astype(np.float64), gallery, space.distance)
    same_class = class_runs(space).of(rows)
    positives = same_class.entries()
    keys[positives] += _POSITIVE
    keys[space.itself.of(rows).entries()] = _ITSELF
    begin = np.cumsum(same_class.length) - same_class.length
    return keys, np.maximum.reduceat(keys[positives], begin)[:, None]


def _top(keys: np.ndarray, depth: int) -> np.ndarray:
    """The largest keys of each row, descending, in units of 2^-50, int64 [B, depth]."""
    if depth < keys.shape[1]:
        keys = np.partition(keys, -depth, axis=1)[:, -depth:]
    return (np.sort(keys, axis=1)[:, ::-1] / _POSITIVE).astype(np.int64)


def _is_tied(top: np.ndarray, keys: np.ndarray) -> bool:
    """Whether any of the largest keys belongs to a positive exactly as near as a negative."""
    if (top[:, :-1] ^ top[:, 1:] == 1).any():
        return True
    # Equally near positives come first: after the last of these keys there may be a negative.
    open_end = np.flatnonzero(top[:, -1] & 1)
    return bool((keys[open_end] == (top[open_end, -1:] - 1) * _POSITIVE).any())

"""Queries and their nearest positives, with exact similarities."""

from typing import NamedTuple

import numpy as np
import torch

from dmlbench.evaluation.inputs import Space, class_runs, similarity


class Pairs(NamedTuple):
    """The nearest positives of consecutive queries, nearest first, equally near ones by id.

    Attributes:
        start: int64 [Q + 1]; positives of query i are entries start[i] to start[i + 1].
        similarity: float64 [P], exact.
        column: int64 [P]; the positive's place in the gallery.
    """

    start: np.ndarray
    similarity: np.ndarray
    column: np.ndarray


def find_pairs(space: Space, begin: int, end: int, keep: np.ndarray, memory: int) -> Pairs:
    """Nearest positives of the queries from `begin` to `end` (in the order of their Side).

    Args:
        keep: int64 [end - begin]; number of positives to find for each query.
        memory: bytes of working memory.
    """
    same_class, itself = class_runs(space).of(slice(begin, end)), space.itself.of(slice(begin, end))
    first = same_class.begin
    start = np.concatenate([[0], np.cumsum(keep)])
    values = np.empty(start[-1])
    columns = np.empty(start[-1], np.int64)
    dim = space.gallery.vectors.shape[1]
    classes = space.queries.classes[begin:end]
    for rows, width in _alike(classes, same_class.length, keep, dim, memory):
        gallery = first[rows[:, 0], None] + np.arange(width)
        # By torch: after a product, NumPy's threads would spin next to torch's.
        queries, others = space.queries.vectors[begin + rows], space.gallery.vectors[gallery]
        both = (torch.from_numpy(some).double() for some in (queries, others))
        scores = similarity(*both, space.distance).numpy()
        mine = itself.of(rows[..., None])
        scores[(mine.begin <= gallery[:, None, :]) & (gallery[:, None, :] < mine.end)] = -np.inf
        scores, order = _descending(scores, int(keep[rows[0, 0]]))
        place = start[rows][..., None] + np.arange(scores.shape[-1])
        values[place] = scores
        columns[place] = first[rows][..., None] + order
    return Pairs(start, values, columns)


def _descending(values: np.ndarray, keep: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest values of the last axis and their indices; equal values by ascending index."""
    if keep == 1:
        order = values.argmax(-1)[..., None]
    else:
        order = np.argsort(-values, axis=-1, kind="stable")[..., :keep]
    return np.take_along_axis(values, order, -1), order


def _alike(classes: np.ndarray, width: np.ndarray, keep: np.ndarray, dim: int, memory: int):
    """Batches of equally large groups of queries of one class: ([G, q] rows, gallery width)."""
    new = np.flatnonzero((np.diff(classes) != 0) | (np.diff(keep) != 0)) + 1
    place = np.arange(len(classes))
    place -= np.repeat(np.append(0, new), np.diff(new, prepend=0, append=len(classes)))
    step = max(1, memory // (64 * max(int(width.max()), dim)))
    cut = np.flatnonzero(place % step == 0)
    length = np.diff(cut, append=len(classes))
    kinds = np.stack([length, width[cut], keep[cut]], 1)
    for q, m, kept in np.unique(kinds[keep[cut] > 0], axis=0).tolist():
        begins = cut[(kinds == (q, m, kept)).all(1)]
        batch = max(1, memory // (64 * (q + m) * max(m, dim)))
        for some in range(0, len(begins), batch):
            yield begins[some : some + batch, None] + np.arange(q), m

"""Exact ranks by faiss: it lists candidates in float32, and exact arithmetic ranks them."""

import numpy as np

from dmlbench.evaluation.faiss_points import flat_index
from dmlbench.evaluation.inputs import Space, class_runs
from dmlbench.evaluation.retrieval import FAR

_SPARE = 64
# Each product and sum of float32 rounds by half of this, relative to norms of at most 1.
_EPSILON = 2.0**-23


def faiss_ranks(
    space: Space,
    positives: np.ndarray,
    limit: np.ndarray,
    first_limit: np.ndarray,
    *,
    memory: int,
    device="cpu",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks of all positives of all queries: as broken by id, at best, and at worst.

    What faiss leaves out is no nearer than its last candidate, up to rounding. A query for which
    that does not decide all ranks that matter is searched again, four times as deep.

    Args:
        positives: int64 [Q]; their number.
        limit: int64 [Q]; ranks beyond it do not matter and are FAR.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        memory: bytes for the candidates of a block of queries.
        device: where to search.

    Returns:
        int64 [P] each, query after query, ascending within a query.
    """
    start = np.cumsum(positives) - positives
    rankings = np.full((3, positives.sum()), FAR)
    queries, gallery = _vectors(space)
    search = flat_index(gallery, device)
    size, waiting = len(gallery), np.flatnonzero(positives)
    depth = min(size, int(limit.max()) + int(space.itself.length.max()) + _SPARE)
    while len(waiting):
        undecided = []
        step = max(1, memory // (16 * depth * gallery.shape[1]))
        for rows in np.split(waiting, range(step, len(waiting), step)):
            values, found = search(queries[rows], depth)
            floor = np.full(len(rows), -np.inf)
            if depth < size:
                floor = values[:, -1].astype(np.float64) + 2 * _EPSILON * gallery.shape[1]
            block = _ranked(space, rows, found, floor)
            decided = (depth == size) | block.decides(limit[rows], first_limit[rows])
            for one in np.flatnonzero(decided):
                query = rows[one]
                inside = slice(start[query], start[query] + positives[query])
                rankings[:, inside] = block.ranks(
                    one, positives[query], limit[query], first_limit[query]
                )
            undecided.append(rows[~decided])
        waiting, depth = np.concatenate(undecided), min(size, 4 * depth)
    return tuple(rankings)


class _Block:
    """Candidates of some queries, the nearest first and those of equal similarity by id.

    Args:
        similarity: float64 [R, K], descending; -inf for what is not a candidate.
        positive: bool [R, K].
    """

    def __init__(self, similarity: np.ndarray, positive: np.ndarray):
        self.similarity, self.positive = similarity, positive

    def decides(self, limit: np.ndarray, first_limit: np.ndarray) -> np.ndarray:
        """Whether the candidates have all ranks up to these, bool [R]."""
        certain = np.isfinite(self.similarity)
        count, found = certain.sum(1), (self.positive & certain).any(1)
        return (count >= limit) & (found | (count >= first_limit))

    def ranks(self, one: int, positives: int, limit: int, first_limit: int) -> np.ndarray:
        """Ranks of a query's positives, [3, positives]; FAR where they do not matter."""
        certain = np.isfinite(self.similarity[one])
        similarity, positive = self.similarity[one][certain], self.positive[one][certain]
        place = np.flatnonzero(positive)
        order = np.arange(len(place))
        # The similarities of negatives, ascending.
        negative = similarity[~positive][::-1]
        nearer = [
            place - order,
            len(negative) - np.searchsorted(negative, similarity[place], "right"),
            len(negative) - np.searchsorted(negative, similarity[place], "left"),
        ]
        ranks = np.full((3, positives), FAR)
        ranks[:, : len(place)] = np.stack(nearer) + order + 1
        last = np.full(positives, limit)
        last[0] = max(limit, first_limit)
        return np.where(ranks <= last, ranks, FAR)


def _ranked(space: Space, rows: np.ndarray, found: np.ndarray, floor: np.ndarray) -> _Block:
    """The found gallery images of queries in exact order, without those at or below the floor."""
    gallery, same_class, itself = space.gallery, class_runs(space).of(rows), space.itself.of(rows)
    near = gallery.vectors[found].astype(np.float64)
    # A sum of products of numbers on the grid is exact in any order.
    similarity = np.einsum("rd,rkd->rk", space.queries.vectors[rows].astype(np.float64), near)
    if space.distance == "euclidean":
        similarity -= np.square(near).sum(2) / 2
    excluded = (found >= itself.begin[:, None]) & (found < itself.end[:, None])
    excluded |= similarity <= floor[:, None]
    similarity[excluded] = -np.inf
    order = np.lexsort((gallery.tie_order[found], -similarity), axis=1)
    positive = (found >= same_class.begin[:, None]) & (found < same_class.end[:, None])
    return _Block(*(np.take_along_axis(some, order, 1) for some in (similarity, positive)))


def _vectors(space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Queries and gallery, whose inner products are the space's similarities, float32."""
    queries, gallery = space.queries.vectors, space.gallery.vectors
    if space.distance == "cosine":
        return queries, gallery
    shift = -np.square(gallery, dtype=np.float64).sum(1) / 2
    ones = np.ones(len(queries))
    return tuple(
        np.column_stack([side, last]).astype(np.float32)
        for side, last in ((queries, ones), (gallery, shift))
    )

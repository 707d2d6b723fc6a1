"""Ranks of every query's positives."""

from typing import NamedTuple

import numpy as np

from dmlbench.evaluation.full_matrix import full_ranks, is_small
from dmlbench.evaluation.inputs import Space, class_runs
from dmlbench.evaluation.retrieval import Ranks, reach


class Found(NamedTuple):
    """Ranks of all queries that have a positive.

    Attributes:
        ranks: exact ties broken by id.
        best, worst: the ranks with ties broken for and against the positives; None if no positive
            ties with a negative.
        row: int64 [Q]; the caller's row number of each scored query.
    """

    ranks: Ranks
    best: Ranks | None
    worst: Ranks | None
    row: np.ndarray


def find_ranks(
    space: Space, metrics: list[str], *, memory: int, precision: str = "auto", device="cpu"
) -> Found:
    """Ranks of the positives of every query that has any, as far down as these metrics use.

    Args:
        memory: bytes for everything except the embeddings.
        precision: of the first product: "bfloat16", "float32", "float64", or "auto", which also
            leaves small spaces without ties to NumPy. Comparisons within its error bound are
            resolved in exact arithmetic, so ranks do not depend on it.
        device: of torch; ranks do not depend on it.
    """
    class_size = class_runs(space).length
    positives = class_size - space.itself.length
    limit, first_limit = _limits(metrics, positives, class_size)
    rank = None
    if precision == "auto" and str(device) == "cpu" and is_small(space):
        rank = best = worst = full_ranks(space, positives, limit, first_limit)
    if rank is None:
        from dmlbench.evaluation.walk import walk_ranks

        rank, best, worst = walk_ranks(
            space, positives, limit, first_limit, memory=memory, precision=precision, device=device
        )
    return _as_called(space, positives, class_size, rank, best, worst)


def _limits(metrics: list[str], positives: np.ndarray, class_size: np.ndarray):
    """The last rank that the metrics use, for all positives and for the first, int64 [Q] each."""
    limit, first_limit = np.zeros_like(positives), np.zeros_like(positives)
    for name in metrics:
        look = reach(name)
        here = look.limit(positives, class_size)
        first_limit = np.maximum(first_limit, here)
        if not look.first_only:
            limit = np.maximum(limit, here)
    return limit, first_limit


def _as_called(space: Space, count, class_size, rank, best, worst) -> Found:
    """Restore the order of the caller's rows, without queries that have no positive."""
    row = space.queries.row
    scored = np.argsort(row)
    scored = scored[count[scored] > 0]
    start = np.cumsum(count) - count
    new_start = np.concatenate([[0], np.cumsum(count[scored])])
    place = np.arange(len(rank)) + np.repeat(start[scored] - new_start[:-1], count[scored])
    tied = not np.array_equal(best, worst)
    ranks, best, worst = (
        Ranks(some[place], new_start, class_size[scored]) for some in (rank, best, worst)
    )
    return Found(ranks, best if tied else None, worst if tied else None, row[scored])

"""Exact ranks of every query's positives, from approximate products: the way of a tile.

The rank of a positive (an image of the query's class) is 1 + the number of positives and negatives
that are nearer. Few comparisons are close, so a product of low precision decides nearly all of
them, and only the others are computed exactly. Which are close is known from a bound on rounding.

    embeddings, labels, ids           as the caller has them
          |
          |   inputs.read_space       norm at most 1, multiples of 2^-24, sorted by class: from here
          v                           on a similarity is exact in float64
    Space: queries and gallery
          |
          |   ranks.find_ranks        how far down the metrics look: a limit on each query's ranks
          |
          +--- small ------------->   full_matrix.full_ranks: all pairs in float64, sorted by NumPy;
          |                           exact ties of positives and negatives come back here
          v
    walk.walk_ranks                   queries in blocks that fit into memory; for each block:
          |
          |   pairs.find_pairs        exact similarities of its positives, nearest first
          |   slots.Slots             a counter of nearer negatives for each positive
          v
    walk._Walk._tile                  1024 to 2048 queries x as many gallery columns (8192 on a GPU)
          |
          |   products.Products.tile  float32 product, or bfloat16 or int8 where this machine is
          |                           faster by it (speed.coarse_precision), with a bound on its
          |                           error; the query's own class is hidden
          v
    tile.Tile: values, error
          |
          |   board.Board.take        for each query of the tile:
          |     tile_search.above       list values above its farthest positive, less the bound
          |     board._places           the positives that each is nearer than: certain, unless one
          |                             is within the bound
          |     Products.closely        those again in float32, one pair at a time
          |     Products.exactly        those still uncertain in float64; equal ones by id
          |     Slots.give_up           drop positives with more nearer negatives than the limit
          |
          |   too many listed or uncertain: walk._Walk._tile takes the next precision, the last of
          |   which is float64, whose tiles Board._sort sorts instead of listing
          v
    Slots.ranks                       ranks with ties broken by id, for and against the positives
          |
          |   ranks._as_called        in the order of the caller's rows
          v
    retrieval.per_query               every retrieval metric is a function of these ranks
"""

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
    space: Space,
    metrics: list[str],
    *,
    memory: int,
    precision: str = "auto",
    device="cpu",
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
    if precision == "auto" and str(device) == "cpu" and is_small(space, memory):
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

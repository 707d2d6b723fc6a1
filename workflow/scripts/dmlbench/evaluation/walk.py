"""Ranks by a walk over tiles of the all-pairs product, in the fastest precision."""

import numpy as np
import torch
from tqdm import tqdm

from dmlbench.evaluation.board import Board
from dmlbench.evaluation.inputs import Space
from dmlbench.evaluation.pairs import find_pairs
from dmlbench.evaluation.products import Products, as_tensors, full_precision
from dmlbench.evaluation.retrieval import FAR
from dmlbench.evaluation.speed import coarse_precision

_NARROWEST = 1024
_WORTH_ROUNDING = 8192
# int8 products of more dimensions may exceed int32.
_MOST_DIMENSIONS = 1 << 15


def walk_ranks(
    space: Space,
    positives: np.ndarray,
    limit: np.ndarray,
    first_limit: np.ndarray,
    *,
    memory: int,
    precision: str,
    device,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks of all positives of all queries: as broken by id, at best, and at worst.

    Args:
        positives: int64 [Q]; their number.
        limit: int64 [Q]; ranks beyond it do not matter and are FAR.
        first_limit: int64 [Q]; the same for a query's nearest positive.
        memory, precision, device: see `dmlbench.evaluation.ranks.find_ranks`.

    Returns:
        int64 [P] each, query after query, ascending within a query.
    """
    # The n-th nearest positive has a rank of n or more.
    keep = np.minimum(positives, np.maximum(limit, np.minimum(first_limit, 1)))
    side = _tile_side(memory, device)
    products = Products(as_tensors(space, device), side * side)
    walk = _Walk(products, _ladder(precision, space, device), side)
    symmetric = space.own and space.distance == "cosine"
    parts = []
    with full_precision(), walk.progress():
        for begin, end in _blocks(keep, memory):
            part = slice(begin, end)
            pairs = find_pairs(space, begin, end, keep[part], memory)
            board = Board(products, pairs, begin, limit[part], first_limit[part], walk.mask, memory)
            if symmetric and end - begin == len(keep):
                walk.triangle(board)
            else:
                walk.rows(board, part)
            parts.append([ranks.cpu().numpy() for ranks in board.ranks()])
    kept = np.arange(keep.sum()) + np.repeat(np.cumsum(positives - keep) - (positives - keep), keep)
    rankings = []
    for some in zip(*parts, strict=True):
        ranks = np.full(positives.sum(), FAR)
        ranks[kept] = np.concatenate(some)
        rankings.append(ranks)
    return tuple(rankings)


def _tile_side(memory: int, device) -> int:
    """A tile takes 13 bytes per entry, and its candidates about as much again."""
    largest = 2048 if torch.device(device).type == "cpu" else 8192
    return int(np.clip(2 ** int(np.log2((memory / 32) ** 0.5)), _NARROWEST // 2, largest))


def _ladder(precision: str, space: Space, device) -> list[torch.dtype]:
    """Precisions of a tile, in the order in which they are tried until one decides all."""
    size, dim = space.gallery.vectors.shape
    if precision != "auto":
        first = getattr(torch, precision)
    else:
        first = coarse_precision(device) if size >= _WORTH_ROUNDING else None
    if first == torch.int8 and dim > _MOST_DIMENSIONS:
        first = None
    finer = [torch.float32, torch.float64]
    if first in finer:
        return finer[finer.index(first) :]
    return finer if first is None else [first, *finer]


def _blocks(keep: np.ndarray, memory: int):
    """Runs of queries whose positives fit into memory, at 64 bytes each; one run if all fit."""
    ends = np.cumsum(keep)
    allowed = max(1, memory // 64)
    begin = 0
    while begin < len(keep):
        before = ends[begin - 1] if begin else 0
        end = int(np.searchsorted(ends, before + allowed, side="right"))
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def _edges(length: int, side: int) -> list[slice]:
    """Narrow tiles first, so that positives out of reach are given up early."""
    edges, begin, width = [], 0, min(side, _NARROWEST)
    while begin < length:
        end = min(length, begin + width)
        edges.append(slice(begin, end))
        begin, width = end, min(side, 2 * width)
    return edges


class _Walk:
    """The order in which tiles are computed, and their precision."""

    def __init__(self, products: Products, ladder: list[torch.dtype], side: int):
        self._products = products
        self._ladder = ladder
        self._start = _Start()
        self._side = side
        self.mask = torch.empty(
            side * side, dtype=torch.bool, device=products.space.gallery.vectors.device
        )
        self._bar = None

    def progress(self):
        """A bar on a terminal, once it takes longer than three seconds."""
        space = self._products.space
        pairs = len(space.queries.vectors) * len(space.gallery.vectors)
        self._bar = tqdm(
            total=pairs, desc="ranks", unit="pair", unit_scale=True, disable=None, delay=3
        )
        return self._bar

    def triangle(self, board: Board) -> None:
        """Queries and gallery are the same, so each tile serves its rows and its columns."""
        edges = _edges(len(self._products.space.queries.vectors), self._side)
        for number, rows in enumerate(edges):
            for columns in edges[number:]:
                self._tile(board, rows, columns, both=columns != rows)

    def rows(self, board: Board, queries: slice) -> None:
        """Every gallery column for these queries."""
        for begin in range(queries.start, queries.stop, self._side):
            rows = slice(begin, min(queries.stop, begin + self._side))
            for columns in _edges(len(self._products.space.gallery.vectors), self._side):
                self._tile(board, rows, columns, both=False)

    def _tile(self, board: Board, rows: slice, columns: slice, *, both: bool) -> None:
        pairs = (rows.stop - rows.start) * (columns.stop - columns.start)
        self._bar.update(2 * pairs if both else pairs)
        sides = [(rows, columns, False)] + [(columns, rows, True)] * both
        sides = [side for side in sides if board.waits(side[0])]
        if not sides:
            return
        dense = max(board.density(side[0]) for side in sides) > board.dense
        last = len(self._ladder) - 1
        # float64 pays off for dense tiles only.
        level = last if dense else min(self._start.level(), max(0, last - 1))
        while sides:
            tile = self._products.tile(self._ladder[level], rows, columns)
            needed = [board.take(tile, r, c, across=t) for r, c, t in sides]
            sides = [side for side, dtype in zip(sides, needed, strict=True) if dtype is not None]
            if level == 0:
                self._start.learn(failed=bool(sides))
            if sides:
                level = max(self._ladder.index(dtype) for dtype in needed if dtype is not None)


class _Start:
    """Where on the ladder to start: above its first precision for some tiles after that failed.

    It depends on the embeddings alone, so that every run computes the same tiles.
    """

    def __init__(self):
        self._wait = 0
        self._pause = 1

    def level(self) -> int:
        if self._wait == 0:
            return 0
        self._wait -= 1
        return 1

    def learn(self, *, failed: bool) -> None:
        # Each failure in a row doubles the tiles until the next attempt.
        self._pause = min(2 * self._pause, 32) if failed else 1
        self._wait = self._pause if failed else 0

"""Ranks of every query's positives: a walk over tiles of the all-pairs product."""

import time
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from dmlbench.evaluation.board import Board
from dmlbench.evaluation.inputs import Space
from dmlbench.evaluation.pairs import class_runs, find_pairs
from dmlbench.evaluation.products import Products, full_precision
from dmlbench.evaluation.retrieval import Ranks, reach

_NARROWEST = 128
_WORTH_HALVES = 8192


class Found(NamedTuple):
    """Ranks of all queries that have a positive.

    Attributes:
        ranks: exact ties broken by id.
        best, worst: the ranks with ties broken for and against the positives; None without a
            tie between a positive and a negative.
        row: int64 [Q]; the caller's row number of each scored query.
    """

    ranks: Ranks
    best: Ranks | None
    worst: Ranks | None
    row: np.ndarray


def find_ranks(space: Space, metrics: list[str], *, memory: int, precision: str = "auto") -> Found:
    """Ranks of the positives of every query that has any, as far down as these metrics look.

    Args:
        memory: bytes for everything but the embeddings.
        precision: of the first product: "bfloat16", "float32", "float64" or "auto". Comparisons
            within its error bound are decided in exact arithmetic; the ranks are the same.
    """
    first, last = class_runs(space)
    count = last - first - int(space.own)
    count = count.clamp(min=0)
    limit, first_limit = _limits(metrics, count, last - first)
    side = _tile_side(memory, space)
    products = Products(space, side * side)
    walk = _Walk(products, _ladder(precision, space), side, memory)
    symmetric = space.own and space.distance == "cosine"
    parts = []
    with full_precision(), walk.progress():
        for begin, end in _blocks(count, side, memory):
            part = slice(begin, end)
            board = walk.board(begin, end, limit[part], first_limit[part])
            if symmetric and end - begin == len(count):
                walk.triangle(board)
            else:
                walk.rows(board, part)
            parts.append([ranks.cpu().numpy() for ranks in board.ranks()])
    rank, best, worst = (np.concatenate(some) for some in zip(*parts, strict=True))
    return _as_called(space, count, (last - first), rank, best, worst)


def _as_called(space: Space, count, class_size, rank, best, worst) -> Found:
    """Bring queries back into the order of the caller's rows, those without a positive left out."""
    count = count.cpu().numpy()
    row = space.queries.row.numpy()
    scored = np.argsort(row)
    scored = scored[count[scored] > 0]
    start = np.concatenate([[0], np.cumsum(count)])
    new_start = np.concatenate([[0], np.cumsum(count[scored])])
    place = np.arange(len(rank)) + np.repeat(start[scored] - new_start[:-1], count[scored])
    size = class_size.cpu().numpy()[scored]
    tied = not np.array_equal(best, worst)
    ranks, best, worst = (Ranks(some[place], new_start, size) for some in (rank, best, worst))
    return Found(ranks, best if tied else None, worst if tied else None, row[scored])


def _limits(metrics: list[str], positives: torch.Tensor, class_size: torch.Tensor):
    """Down to which rank the metrics look, for all positives and for the first, int64 [Q] each."""
    limit = torch.zeros_like(positives)
    first_limit = torch.zeros_like(positives)
    for name in metrics:
        look = reach(name)
        here = torch.as_tensor(look.limit(positives, class_size), device=positives.device)
        first_limit = torch.maximum(first_limit, here)
        if not look.first_only:
            limit = torch.maximum(limit, here)
    return limit, first_limit


def _tile_side(memory: int, space: Space) -> int:
    """A tile takes 13 bytes an entry and its candidates about as much again."""
    largest = 8192 if space.gallery.vectors.is_cuda else 2048
    return int(np.clip(2 ** int(np.log2((memory / 32) ** 0.5)), _NARROWEST, largest))


def _ladder(precision: str, space: Space) -> list[torch.dtype]:
    ladder = [torch.bfloat16, torch.float32, torch.float64]
    if precision == "auto":
        return ladder[int(len(space.gallery.vectors) < _WORTH_HALVES) :]
    return ladder[ladder.index(getattr(torch, precision)) :]


def _blocks(count: torch.Tensor, side: int, memory: int):
    """Runs of queries whose positives fit into memory, at 64 bytes each: one run if all do."""
    ends = count.cumsum(0)
    allowed = max(1, memory // 64)
    begin = 0
    while begin < len(count):
        before = int(ends[begin - 1]) if begin else 0
        end = int(torch.searchsorted(ends, before + allowed, right=True))
        end = max(end, min(begin + 1, len(count)))
        yield begin, end
        begin = end


def _edges(length: int, side: int) -> list[slice]:
    """Narrow tiles first, so that hopeless positives are given up early."""
    edges, begin, width = [], 0, _NARROWEST
    while begin < length:
        end = min(length, begin + width)
        edges.append(slice(begin, end))
        begin, width = end, min(side, 2 * width)
    return edges


class _Walk:
    """The order in which tiles are made, and their precision."""

    def __init__(self, products: Products, ladder: list[torch.dtype], side: int, memory: int):
        self._products = products
        self._ladder = ladder
        self._choice = _Choice(len(ladder))
        self._side = side
        self._memory = memory
        self._mask = torch.empty(
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

    def board(self, begin: int, end: int, limit, first_limit) -> Board:
        pairs = find_pairs(self._products.space, begin, end, self._memory)
        return Board(self._products, pairs, begin, limit, first_limit, self._mask, self._memory)

    def triangle(self, board: Board) -> None:
        """Queries and gallery are the same: each tile serves its rows and its columns."""
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
        open_choice = pairs == self._side**2 and not dense
        first = level = self._choice.level() if open_choice else 0
        if dense:
            level = len(self._ladder) - 1
        begin = time.perf_counter()
        while sides:
            tile = self._products.tile(self._ladder[level], rows, columns)
            needed = [board.take(tile, r, c, across=t) for r, c, t in sides]
            sides = [side for side, dtype in zip(sides, needed, strict=True) if dtype is not None]
            if sides:
                level = max(self._ladder.index(dtype) for dtype in needed if dtype is not None)
        spent = time.perf_counter() - begin
        if open_choice:
            self._choice.learn(first, spent)


class _Choice:
    """Which precision to try first: the one that has been fastest of late. Ranks are the same."""

    def __init__(self, levels: int):
        self._cost = [0.0] * levels
        self._pause = [1] * levels
        self._due = [0] * levels
        self._turn = 0

    def level(self) -> int:
        self._turn += 1
        best = self._cost.index(min(self._cost))
        due = [at for at, turn in enumerate(self._due) if turn <= self._turn and at != best]
        return due[0] if due else best

    def learn(self, level: int, cost: float) -> None:
        known = self._cost[level]
        self._cost[level] = (known + cost) / 2 if known else cost
        # A precision that does not pay is tried again ever more rarely.
        self._pause[level] = 8 if cost <= min(self._cost) else min(2 * self._pause[level], 32)
        self._due[level] = self._turn + self._pause[level]

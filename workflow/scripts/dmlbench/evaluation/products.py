"""Similarities of a tile of queries and gallery, in a chosen precision, with an error bound."""

import contextlib
import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from dmlbench.evaluation.inputs import Side, Space

# Rounding thresholds to float32 (values below 2) and sorting keys in float64 cost less than this.
_SLACK = 2.0**-22


class Tile(NamedTuple):
    """Similarities of gallery columns to queries, each within `error` of the exact value.

    Attributes:
        values: [rows, columns]; bfloat16, float32 or float64. Images of the query's own class
            have -inf.
        error: bound on the absolute error, rounding of thresholds included.
    """

    values: torch.Tensor
    error: float

    @property
    def exact(self) -> bool:
        return self.values.dtype == torch.float64


def as_tensors(space: Space, device) -> Space:
    """The same space with tensors for arrays; on a CPU they share its memory."""

    def moved(side: Side) -> Side:
        return Side(*(torch.from_numpy(part).to(device) for part in side))

    queries = moved(space.queries)
    return space._replace(queries=queries, gallery=queries if space.own else moved(space.gallery))


class Products:
    """Tiles of the all-pairs similarity of a space.

    Args:
        space: what to search, as tensors.
        entries: largest number of entries of a tile; its memory is reused from tile to tile.
    """

    def __init__(self, space: Space, entries: int):
        self.space = space
        self._entries = entries
        self._device = space.gallery.vectors.device
        self._buffers: dict[torch.dtype, torch.Tensor] = {}
        self._halves: tuple[torch.Tensor, torch.Tensor] | None = None
        self._bias: torch.Tensor | None = None
        if space.distance == "euclidean":
            self._bias = -space.gallery.vectors.double().square().sum(1) / 2

    def tile(self, dtype: torch.dtype, rows: slice, columns: slice) -> Tile:
        """The tile in this precision; the previous tile of that precision is overwritten."""
        if dtype == torch.float64:
            queries, gallery = self.space.queries.vectors, self.space.gallery.vectors
            values, error = queries[rows].double() @ gallery[columns].double().T, 0.0
        else:
            queries, gallery, error = self._operands(dtype)
            values = self._buffer(dtype, rows, columns)
            torch.mm(queries[rows], gallery[columns].T, out=values)
        if self._bias is not None:
            values += self._bias[columns].to(dtype)
        mine, theirs = self.space.queries.classes[rows], self.space.gallery.classes[columns]
        if mine[0] <= theirs[-1] and theirs[0] <= mine[-1]:
            values.masked_fill_(mine[:, None] == theirs, -torch.inf)
        return Tile(values, error)

    def exactly(self, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Exact similarities of pairs given by query and gallery numbers, float64."""
        queries, gallery = self.space.queries.vectors, self.space.gallery.vectors
        result = torch.empty(len(rows), dtype=torch.float64, device=self._device)
        # Few enough at a time to stay in a CPU's cache.
        step = max(1, (1 << (24 if gallery.is_cuda else 17)) // gallery.shape[1])
        for begin in range(0, len(rows), step):
            some = slice(begin, begin + step)
            products = queries[rows[some]].double() * gallery[columns[some]].double()
            result[some] = products.sum(1)
        if self._bias is not None:
            result += self._bias[columns]
        return result

    def _operands(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, float]:
        queries, gallery = self.space.queries.vectors, self.space.gallery.vectors
        # Any order of float32 summation errs by at most D u sum|x_i y_i| <= D u |x| |y|; norms
        # are at most 1 + D 2^-24, and three more operations are granted for the Euclidean term.
        summation = 1.5 * (gallery.shape[1] + 3) * 2.0**-24
        if dtype == torch.float32:
            return queries, gallery, summation + _SLACK
        if self._halves is None:
            half = gallery.bfloat16()
            other = half if self.space.own else queries.bfloat16()
            lost = max(_longest_difference(gallery, half), _longest_difference(queries, other))
            # |x y - x' y'| <= |x - x'| |y| + |x'| |y - y'|; the result, at most 1 + 2 lost, is
            # rounded to bfloat16, whose unit roundoff is 2^-8.
            self._half_error = 2.02 * lost + 2.0**-8 + summation + _SLACK
            self._halves = other, half
        return *self._halves, self._half_error

    def _buffer(self, dtype: torch.dtype, rows: slice, columns: slice) -> torch.Tensor:
        if dtype not in self._buffers:
            self._buffers[dtype] = torch.empty(self._entries, dtype=dtype, device=self._device)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        return self._buffers[dtype][: height * width].view(height, width)


def _longest_difference(vectors: torch.Tensor, rounded: torch.Tensor) -> float:
    step = max(1, (1 << 22) // vectors.shape[1])
    return max(
        float(torch.linalg.vector_norm(a - b.float(), dim=1).max())
        for a, b in zip(vectors.split(step), rounded.split(step), strict=True)
    )


def above(
    values: torch.Tensor, floor: torch.Tensor, mask: torch.Tensor, most: float
) -> torch.Tensor | None:
    """Flat places where values [R, C] exceed a floor ([R, 1] or [1, C]), ascending, int64.

    None where there are more than `most`.
    """
    if values.is_cuda:
        mask = torch.gt(values, floor, out=mask[: values.numel()].view(values.shape)).flatten()
        return mask.nonzero().flatten() if int(mask.sum()) <= most else None
    values, floor, mask = _as_arrays(values, floor, mask)
    width = values.shape[1]

    def compare(rows: slice) -> int:
        np.greater(values[rows], floor[rows], out=mask[rows])
        return np.count_nonzero(mask[rows])

    def search(rows: slice) -> np.ndarray:
        return np.flatnonzero(mask[rows]) + rows.start * width

    if sum(_by_rows(compare, values)) > most:
        return None
    return torch.from_numpy(np.concatenate(_by_rows(search, values)))


def count_above(values: torch.Tensor, floor: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Numbers of values [R, C] above each floor, int64: [R] for a floor [R, 1], [C] for [1, C]."""
    by_row = floor.shape[1] == 1
    if values.is_cuda:
        mask = mask[: values.numel()].view(values.shape)
        return torch.gt(values, floor, out=mask).sum(int(by_row))
    values, floor, mask = _as_arrays(values, floor, mask)

    def count(rows: slice) -> np.ndarray:
        np.greater(values[rows], floor[rows], out=mask[rows])
        return np.count_nonzero(mask[rows], axis=int(by_row))

    counts = _by_rows(count, values)
    return torch.from_numpy(np.concatenate(counts) if by_row else np.sum(counts, axis=0))


def _as_arrays(values: torch.Tensor, floor: torch.Tensor, mask: torch.Tensor):
    """Arrays to compare: NumPy compares and finds several times as fast as torch on a CPU."""
    if values.dtype == torch.bfloat16:
        # For a floor of at least 0 the bits of bfloat16, read as int16, are in the same order.
        values, floor = values.view(torch.int16), floor.view(torch.int16)
    mask = mask[: values.numel()].view(values.shape)
    return values.numpy(), np.broadcast_to(floor.numpy(), values.shape), mask.numpy()


def sorted_rows(values: torch.Tensor) -> torch.Tensor:
    """The same rows, each in ascending order."""
    if values.is_cuda:
        return values.sort(dim=1).values
    # NumPy sorts several times as fast as torch on a CPU.
    values = np.array(values.numpy(), order="C")
    _by_rows(lambda rows: values[rows].sort(axis=1), values)
    return torch.from_numpy(values)


def _by_rows(function, values: np.ndarray) -> list:
    """Call a function with slices of the rows, in as many threads as torch may use."""
    threads = torch.get_num_threads()
    if threads == 1 or values.size < 1 << 20:
        return [function(slice(0, len(values)))]
    edges = np.linspace(0, len(values), threads + 1).astype(int).tolist()
    slices = [slice(*pair) for pair in itertools.pairwise(edges)]
    return list(_pool(threads).map(function, slices))


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="dmlbench-ranks")


@contextlib.contextmanager
def full_precision():
    """Float32 products in float32 and bfloat16 products summed in float32, whatever was set."""
    matmul = torch.backends.cuda.matmul
    before = torch.get_float32_matmul_precision(), matmul.allow_bf16_reduced_precision_reduction
    torch.set_float32_matmul_precision("highest")
    matmul.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        matmul.allow_bf16_reduced_precision_reduction = before[1]

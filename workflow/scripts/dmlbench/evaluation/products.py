"""Similarities of a tile of queries and gallery, in a chosen precision, with an error bound."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import torch

from dmlbench.evaluation.inputs import Side, Space
from dmlbench.evaluation.speed import coarse_product
from dmlbench.evaluation.tile import Tile

# Rounding thresholds to float32 (values below 2) and sorting keys in float64 add less than this.
_SLACK = 2.0**-22

_LEAST = torch.iinfo(torch.int32).min

# Smaller products of all pairs take less time than copying half of them saves.
_LEAST_HALF = 256


def as_tensors(space: Space, device) -> Space:
    """The same space with tensors instead of arrays; on a CPU they share its memory."""

    def moved(side: Side) -> Side:
        return Side(*(torch.from_numpy(part).to(device) for part in side))

    queries = moved(space.queries)
    return space._replace(queries=queries, gallery=queries if space.own else moved(space.gallery))


class _Operands(NamedTuple):
    """The operands of a tile's product, with error bound and unit as in `Tile`."""

    queries: torch.Tensor
    gallery: torch.Tensor
    error: float
    unit: float = 1.0


class Products:
    """Tiles of the all-pairs similarity of a space.

    Args:
        space: what to search, as tensors.
        entries: largest number of entries of a tile, whose memory is reused.
    """

    def __init__(self, space: Space, entries: int):
        self.space = space
        self._entries = entries
        self._device = space.gallery.vectors.device
        self._buffers: dict[torch.dtype, torch.Tensor] = {}
        self._rounded: dict[torch.dtype, _Operands] = {}
        self._bias: torch.Tensor | None = None
        if space.distance == "euclidean":
            self._bias = -space.gallery.vectors.double().square().sum(1) / 2

    def tile(self, dtype: torch.dtype, rows: slice, columns: slice) -> Tile:
        """The tile in this precision; the previous tile of that precision is overwritten.

        int8 rounds the vectors, not the products, and gives values of int32.
        """
        error, unit = 0.0, 1.0
        if dtype == torch.float64:
            queries, gallery = self.space.queries.vectors, self.space.gallery.vectors
            values = queries[rows].double() @ gallery[columns].double().T
        else:
            queries, gallery, error, unit = self._operands(dtype)
            values = self._buffer(torch.int32 if dtype == torch.int8 else dtype, rows, columns)
            if dtype == torch.float32 and self.space.own and rows == columns and not values.is_cuda:
                _square(queries[rows], values)
            else:
                coarse_product(queries[rows], gallery[columns], values)
        if self._bias is not None:
            bias = self._bias[columns]
            values += ((bias / unit).round() if dtype == torch.int8 else bias).to(values.dtype)
        self._hide_class(values, rows, columns)
        return Tile(values, error, unit)

    def _hide_class(self, values: torch.Tensor, rows: slice, columns: slice) -> None:
        """Make images of a query's own class the farthest; only few of a tile's classes meet."""
        mine, theirs = self.space.queries.classes[rows], self.space.gallery.classes[columns]
        (top, bottom), (left, right) = _in_range(mine, theirs), _in_range(theirs, mine)
        least = _LEAST if values.dtype == torch.int32 else -torch.inf
        same = mine[top:bottom, None] == theirs[left:right]
        values[top:bottom, left:right].masked_fill_(same, least)

    def closely(self, rows: torch.Tensor, columns: torch.Tensor) -> tuple[torch.Tensor, float]:
        """Similarities of pairs given by query and gallery numbers, float64, and their error."""
        queries, gallery, error, _ = self._operands(torch.float32)
        result = torch.empty(len(rows), dtype=torch.float64, device=self._device)
        for some in self._few(len(rows)):
            left = queries.index_select(0, rows[some])
            result[some] = left.mul_(gallery.index_select(0, columns[some])).sum(1).double()
        if self._bias is not None:
            result += self._bias[columns]
        return result, error

    def exactly(self, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Exact similarities of pairs given by query and gallery numbers, float64."""
        queries, gallery = self.space.queries.vectors, self.space.gallery.vectors
        result = torch.empty(len(rows), dtype=torch.float64, device=self._device)
        for some in self._few(len(rows)):
            left = queries.index_select(0, rows[some]).double()
            result[some] = left.mul_(gallery.index_select(0, columns[some])).sum(1)
        if self._bias is not None:
            result += self._bias[columns]
        return result

    def _few(self, pairs: int) -> Iterator[slice]:
        """Chunks of pairs that fit into a CPU's cache."""
        gallery = self.space.gallery.vectors
        step = max(1, (1 << (24 if gallery.is_cuda else 17)) // gallery.shape[1])
        return (slice(begin, begin + step) for begin in range(0, pairs, step))

    def _operands(self, dtype: torch.dtype) -> "_Operands":
        if dtype not in self._rounded:
            make = {torch.int8: self._whole_numbers, torch.bfloat16: self._halves}
            self._rounded[dtype] = make.get(dtype, self._as_they_are)()
        return self._rounded[dtype]

    def _as_they_are(self) -> "_Operands":
        return _Operands(*self._vectors(), self._summation() + _SLACK)

    def _halves(self) -> "_Operands":
        queries, gallery, lost = self._rounded_by(
            torch.bfloat16, torch.Tensor.bfloat16, torch.Tensor.float
        )
        # The result, at most 1 + 2 `lost`, is rounded to bfloat16, whose unit roundoff is 2^-8; so
        # are the Euclidean term, at most 1/2, and the sum of both, less than 2.
        rounding = 2.0**-8 if self._bias is None else 2.0**-8 + 2.0**-10 + 2.0**-8
        error = (2.02 + lost) * lost + rounding + self._summation() + _SLACK
        return _Operands(queries, gallery, error)

    def _whole_numbers(self) -> "_Operands":
        largest = max(abs(float(end)) for side in self._vectors() for end in side.aminmax())
        step = largest / 127 if largest > 0 else 1.0
        queries, gallery, lost = self._rounded_by(
            torch.int8, lambda part: (part / step).round_(), lambda codes: codes * step
        )
        # Sums of int8 products are exact; the Euclidean term is rounded to a multiple of the unit.
        unit = step**2
        return _Operands(queries, gallery, (2.02 + lost) * lost + unit / 2 + _SLACK, unit)

    def _rounded_by(
        self, dtype: torch.dtype, rounded, widened
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Both sides rounded, and the longest difference of a vector and its rounding.

        |x y - x' y'| <= |x - x'| |y| + |x'| |y - y'| <= lost |y| + (|x| + lost) lost.
        """
        sides = self._vectors()[: 1 if self.space.own else 2]
        rounded_sides, lost = [], 0.0
        for side in sides:
            rounded_sides.append(torch.empty_like(side, dtype=dtype))
            step = max(1, (1 << 20) // side.shape[1])
            for part, codes in zip(side.split(step), rounded_sides[-1].split(step), strict=True):
                codes.copy_(rounded(part))
                difference = torch.linalg.vector_norm(part - widened(codes), dim=1)
                lost = max(lost, float(difference.max()))
        return rounded_sides[0], rounded_sides[-1], lost

    def _vectors(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.space.queries.vectors, self.space.gallery.vectors

    def _summation(self) -> float:
        # Any order of n float32 operations errs by at most n u / (1 - n u) sum|x_i y_i|, where
        # sum|x_i y_i| <= |x| |y|; three operations are granted for the Euclidean term.
        dim = self.space.gallery.vectors.shape[1]
        rounding = (dim + 3) * 2.0**-24
        return rounding / (1 - rounding) * (1 + dim * 2.0**-24) ** 2

    def _buffer(self, dtype: torch.dtype, rows: slice, columns: slice) -> torch.Tensor:
        if dtype not in self._buffers:
            self._buffers[dtype] = torch.empty(self._entries, dtype=dtype, device=self._device)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        return self._buffers[dtype][: height * width].view(height, width)


def _square(vectors: torch.Tensor, out: torch.Tensor) -> None:
    """Products of all pairs of rows [N, D] into out [N, N], those below the diagonal by copying."""
    half = len(vectors) // 2
    if half < _LEAST_HALF:
        coarse_product(vectors, vectors, out)
        return
    first, second = slice(0, half), slice(half, None)
    _square(vectors[first], out[first, first])
    _square(vectors[second], out[second, second])
    coarse_product(vectors[first], vectors[second], out[first, second])
    out[second, first] = out[first, second].T


def _in_range(classes: torch.Tensor, others: torch.Tensor) -> tuple[int, int]:
    """Begin and end of the classes within the range of the others; both are ascending."""
    begin = torch.searchsorted(classes, others[0])
    return int(begin), int(torch.searchsorted(classes, others[-1], right=True))


@contextlib.contextmanager
def full_precision():
    """Float32 products in float32, bfloat16 products summed in float32, whatever the settings."""
    gpu, cpu = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    reduced = gpu.allow_bf16_reduced_precision_reduction
    before = torch.get_float32_matmul_precision(), cpu.fp32_precision
    torch.set_float32_matmul_precision("highest")
    gpu.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        # The line above may have set the CPU's precision to TF32. `use_precision` of the next
        # training would not reset it, and torch raises an error where CPU and GPU differ.
        cpu.fp32_precision = before[1]
        gpu.allow_bf16_reduced_precision_reduction = reduced

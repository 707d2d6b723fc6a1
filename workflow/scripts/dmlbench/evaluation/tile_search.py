"""Searches in the values of a tile: which exceed a threshold, how many, and their order."""

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch


def above(
    values: torch.Tensor, floor: torch.Tensor, mask: torch.Tensor, most: float
) -> torch.Tensor | None:
    """Flat indices where values [R, C] exceed a floor ([R, 1] or [1, C]), ascending, int64.

    None if there are more than `most`.
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
        return _true(mask[rows].reshape(-1)) + rows.start * width

    if sum(_by_rows(compare, values)) > most:
        return None
    return torch.from_numpy(np.concatenate(_by_rows(search, values)))


def _true(mask: np.ndarray) -> np.ndarray:
    """`np.flatnonzero` of a mask with few true values, eight at a time: in half the time."""
    end = len(mask) // 8 * 8
    words = mask[:end].view(np.uint64)
    some = np.flatnonzero(words != 0)
    inside = np.flatnonzero(words[some].view(bool))
    return np.concatenate([8 * some[inside // 8] + inside % 8, end + np.flatnonzero(mask[end:])])


def count_above(
    values: torch.Tensor, floor: torch.Tensor, mask: torch.Tensor, *, by_row: bool
) -> torch.Tensor:
    """Number of values [R, C] above floors, int64: [R] for floors [R, 1], else [C] for [1, C].

    The shapes cannot tell: with one row or one column, both may be [1, 1].
    """
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
    """Arrays to compare: on a CPU, NumPy compares and searches several times as fast as torch."""
    if values.dtype == torch.bfloat16:
        # For a floor of at least 0 the bits of bfloat16, read as int16, are in the same order.
        values, floor = values.view(torch.int16), floor.view(torch.int16)
    mask = mask[: values.numel()].view(values.shape)
    return values.numpy(), np.broadcast_to(floor.numpy(), values.shape), mask.numpy()


def sorted_rows(values: torch.Tensor) -> torch.Tensor:
    """The same rows, each in ascending order."""
    if values.is_cuda:
        # A transposed tile stays transposed when sorted, and searchsorted would copy it each time.
        return values.contiguous().sort(dim=1).values
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

"""How a network runs on a CPU."""

import ctypes
import sys

import torch

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Constants of glibc's malloc.h."""


def use_cpu(threads: int) -> None:
    """Let torch compute with a number of threads, reusing the memory of this process.

    By default a large tensor's memory returns to the system when it is freed, and the next one gets
    zeroed pages: two fifths of a training step. Keeping it makes the process an eighth larger.
    Huge pages on top would shorten no step, and make the process half as large again
    (benchmarks/step_allocation.py). Results are the same. If the C library is not glibc, only the
    threads are set.
    """
    torch.set_num_threads(threads)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)

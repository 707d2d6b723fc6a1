"""How a network runs on a CPU."""

import ctypes
import sys

import torch

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Numbers of settings in glibc's malloc.h."""


def use_cpu(threads: int) -> None:
    """Let torch compute with so many threads, in memory that this process has had before.

    By default a large tensor's memory goes back to the system with it, and comes zeroed, page by
    page, for the next one: a fifth to a third of a training step. Kept, it makes the process about
    a quarter larger. Numbers are the same. Where the C library is not glibc, only the threads are
    set.
    """
    torch.set_num_threads(threads)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)

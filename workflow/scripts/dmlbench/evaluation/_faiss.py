"""faiss, whose OpenBLAS computes with the kernels of this CPU."""

import contextlib
import os

from dmlbench.machine import instructions, openblas_kernels, vendor

_NAME = "OPENBLAS_CORETYPE"


@contextlib.contextmanager
def _kernels_named():
    # faiss brings an OpenBLAS of 2021, which takes CPUs of later years for one of 2004: k-means
    # takes four times as long. OpenBLAS reads the variable when it is loaded.
    kernels = openblas_kernels(vendor(), instructions().split())
    if kernels is None or _NAME in os.environ:
        yield
        return
    os.environ[_NAME] = kernels
    try:
        yield
    finally:
        del os.environ[_NAME]


with _kernels_named():
    import faiss

__all__ = ["faiss"]

"""Which precision below float32 pays off on this machine: probed once, in milliseconds."""

import contextlib
import functools
import time
from collections.abc import Sequence

import torch

# On a GPU a product of 256 rows takes as long in any precision: as long as it takes to start one.
_SIDES, _DIM = {"cpu": 256, "cuda": 2048}, 512
_ROUNDS = 8
# A product must take less than this share of float32's time to be worth its larger error.
_WORTH = 0.7


def coarse_product(queries: torch.Tensor, gallery: torch.Tensor, out: torch.Tensor) -> None:
    """Products of all pairs of rows, [Q, D] and [M, D] into out [Q, M]: int8 into int32."""
    if queries.dtype == torch.int8:
        torch._int_mm(queries, gallery.T, out=out)
    else:
        torch.mm(queries, gallery.T, out=out)


def coarse_precision(device) -> torch.dtype | None:
    """The precision with faster products than float32 on this device: bfloat16, int8 or None.

    CPUs differ: with AVX512-BF16 or AMX bfloat16 takes half of float32's time, without them six
    times as long; with VNNI int8 takes a third. bfloat16 has the smaller error and is preferred.
    """
    return _probed(torch.device(device).type)


@functools.cache
def _probed(device: str) -> torch.dtype | None:
    candidates = [torch.bfloat16]
    if device == "cpu" and int8_is_exact():
        candidates.append(torch.int8)
    seconds = _seconds([torch.float32, *candidates], device)
    allowed = _WORTH * seconds[torch.float32]
    return next((dtype for dtype in candidates if seconds[dtype] <= allowed), None)


def _seconds(dtypes: Sequence[torch.dtype], device: str) -> dict[torch.dtype, float]:
    """The least time that a product of small matrices takes in each precision, made in turn.

    On a CPU, of one core: what other processes take of the machine does not count.
    """
    clock, side = time.thread_time if device == "cpu" else time.perf_counter, _SIDES[device]
    operands = {}
    for dtype in dtypes:
        rows = torch.ones(side, _DIM, dtype=dtype, device=device)
        out = rows.new_empty(side, side, dtype=torch.int32 if dtype == torch.int8 else dtype)
        operands[dtype] = rows, out
    least = dict.fromkeys(dtypes, float("inf"))
    with _one_thread():
        for measured in [False] + [True] * _ROUNDS:
            for dtype, (rows, out) in operands.items():
                begin = clock()
                coarse_product(rows, rows, out)
                if out.is_cuda:
                    torch.cuda.synchronize()
                if measured:
                    least[dtype] = min(least[dtype], clock() - begin)
    return least


@contextlib.contextmanager
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@functools.cache
def int8_is_exact() -> bool:
    """Whether int8 products are summed in int32 without saturation, as VNNI does it.

    Older instructions add two products in int16, which the largest ones exceed.
    """
    generator = torch.Generator().manual_seed(0)
    rows = 127 - 254 * torch.randint(2, (64, 256), generator=generator, dtype=torch.int8)
    rows[:32] = 127
    out = torch.empty(64, 64, dtype=torch.int32)
    coarse_product(rows, rows, out)
    return torch.equal(out.double(), rows.double() @ rows.double().T)

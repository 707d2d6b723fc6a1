"""Which precision below float32 pays off on this machine: probed once, in milliseconds."""

import functools
import time

import torch

_SIDE, _DIM = 256, 512
_REPEATS = 5
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
    return _probed(torch.device(device).type, torch.get_num_threads())


@functools.cache
def _probed(device: str, threads: int) -> torch.dtype | None:
    allowed = _WORTH * _seconds(torch.float32, device)
    if _seconds(torch.bfloat16, device) <= allowed:
        return torch.bfloat16
    if device == "cpu" and int8_is_exact() and _seconds(torch.int8, device) <= allowed:
        return torch.int8
    return None


def _seconds(dtype: torch.dtype, device: str) -> float:
    """The least time of a few products of small matrices."""
    rows = torch.ones(_SIDE, _DIM, dtype=dtype, device=device)
    out = torch.empty(
        _SIDE, _SIDE, dtype=torch.int32 if dtype == torch.int8 else dtype, device=device
    )
    times = []
    for _ in range(1 + _REPEATS):
        begin = time.perf_counter()
        coarse_product(rows, rows, out)
        if out.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


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

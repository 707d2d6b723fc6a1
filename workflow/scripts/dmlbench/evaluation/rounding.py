"""Thresholds in the precision of a tile, rounded so that no comparison is lost."""

import torch

_MOST = torch.iinfo(torch.int32).max


def rounded_down(floor: torch.Tensor, dtype: torch.dtype, unit: float) -> torch.Tensor | None:
    """The floor in a tile's precision and unit, not rounded up; None if bfloat16 cannot be used.

    Rounding to float32 is part of a tile's error. The upper half of the bits of a positive float32
    is the bfloat16 below it.
    """
    if dtype == torch.int32:
        return _whole((floor / unit).floor())
    if dtype != torch.bfloat16:
        return floor.to(dtype)
    if bool((floor < 2.0**-24).any()):
        return None
    return _cut(floor - 2.0**-24)


def rounded_up(ceiling: torch.Tensor, dtype: torch.dtype, unit: float) -> torch.Tensor:
    """The ceiling, not rounded down, for values that `rounded_down` has accepted."""
    if dtype == torch.int32:
        return _whole((ceiling / unit).ceil())
    if dtype != torch.bfloat16:
        return ceiling.to(dtype)
    return (_cut(ceiling + 2.0**-24).view(torch.int16) + 1).view(torch.bfloat16)


def _whole(threshold: torch.Tensor) -> torch.Tensor:
    return threshold.clamp(-_MOST, _MOST).to(torch.int32)


def _cut(threshold: torch.Tensor) -> torch.Tensor:
    bits = threshold.float().view(torch.int32)
    return (bits >> 16).to(torch.int16).view(torch.bfloat16)

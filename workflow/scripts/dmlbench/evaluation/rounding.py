"""Thresholds in the precision of a tile, rounded so that no comparison is lost."""

import torch


def rounded_down(floor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """The floor in this precision, not rounded up; None where bfloat16 cannot be used.

    Rounding to float32 is part of a tile's error. The bits of a positive float32, cut in half,
    are the bfloat16 below it.
    """
    if dtype != torch.bfloat16:
        return floor.to(dtype)
    if bool((floor < 2.0**-24).any()):
        return None
    return _cut(floor - 2.0**-24)


def rounded_up(ceiling: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The ceiling in this precision, not rounded down, for what `rounded_down` has taken."""
    if dtype != torch.bfloat16:
        return ceiling.to(dtype)
    return (_cut(ceiling + 2.0**-24).view(torch.int16) + 1).view(torch.bfloat16)


def _cut(threshold: torch.Tensor) -> torch.Tensor:
    bits = threshold.float().view(torch.int32)
    return (bits >> 16).to(torch.int16).view(torch.bfloat16)

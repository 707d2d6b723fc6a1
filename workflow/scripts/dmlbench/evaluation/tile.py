"""A tile of similarities, and thresholds in its precision that lose no comparison."""

from typing import NamedTuple

import torch

_LARGEST = torch.iinfo(torch.int32).max


class Tile(NamedTuple):
    """Similarities of gallery columns to queries, each within `error` of the exact value.

    Attributes:
        values: [rows, columns]; bfloat16, float32 or float64, or int32 in units of `unit`.
            Images of the query's own class have -inf, or the least int32.
        error: bound on the absolute error, rounding of thresholds to float32 included.
        unit: the similarity that a value of 1 represents.
    """

    values: torch.Tensor
    error: float
    unit: float = 1.0

    @property
    def coarse(self) -> bool:
        return self.values.dtype in (torch.bfloat16, torch.int32)

    @property
    def exact(self) -> bool:
        return self.values.dtype == torch.float64

    def floor(self, similarity: torch.Tensor) -> torch.Tensor | None:
        """Only values above this can exceed a similarity (float64); in the tile's precision.

        None if bfloat16 cannot be used: its floor must be positive. The upper half of the bits of a
        positive float32 is the bfloat16 below it.
        """
        least = similarity - self.error
        if self.values.dtype == torch.int32:
            return _whole((least / self.unit).floor())
        if self.values.dtype != torch.bfloat16:
            return least.to(self.values.dtype)
        if bool((least < 2.0**-24).any()):
            return None
        return _cut(least - 2.0**-24)

    def ceiling(self, similarity: torch.Tensor) -> torch.Tensor:
        """All values above this exceed a similarity (float64) that `floor` has accepted."""
        most = similarity + self.error
        if self.values.dtype == torch.int32:
            return _whole((most / self.unit).ceil())
        if self.values.dtype != torch.bfloat16:
            return most.to(self.values.dtype)
        return (_cut(most + 2.0**-24).view(torch.int16) + 1).view(torch.bfloat16)


def _whole(threshold: torch.Tensor) -> torch.Tensor:
    return threshold.clamp(-_LARGEST, _LARGEST).to(torch.int32)


def _cut(threshold: torch.Tensor) -> torch.Tensor:
    bits = threshold.float().view(torch.int32)
    return (bits >> 16).to(torch.int16).view(torch.bfloat16)

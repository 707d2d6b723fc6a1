"""Batches on which the authors' code was run; the same numbers on every machine."""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
"""What the authors' code computed; benchmarks/authors.py wrote it."""

CLASSES, DIMENSIONS = 7, 6
RHO_SWITCH = 0.4
DRAWS = 4000
"""How often miners were called to count what they draw."""


class Fixed(NamedTuple):
    """A batch.

    Attributes:
        x: float64 [B, D], of length 1 unless said otherwise.
        labels: int64 [B].
    """

    x: Tensor
    labels: Tensor


def numbers(*shape: int, start: int = 0) -> Tensor:
    """Numbers between -1 and 1 without a pattern, float64."""
    size = torch.Size(shape).numel()
    index = torch.arange(start, start + size, dtype=torch.float64)
    return ((torch.sin(index * 12.9898 + 1) * 43758.5453) % 2 - 1).reshape(shape)


def unit(x: Tensor) -> Tensor:
    """Rows at length 1."""
    return x / x.norm(dim=1, keepdim=True)


def proxies(copies: int = 1) -> Tensor:
    """A vector per class, or several, class after class: [C copies, D]."""
    return numbers(CLASSES * copies, DIMENSIONS, start=5000)


def fixed_batches() -> dict[str, Fixed]:
    """Two and four images per class, at random and near the center of their class."""
    found = {}
    for name, each in (("pairs", 2), ("fours", 4)):
        labels = torch.arange(12) // each
        noise = numbers(12, DIMENSIONS, start=100 * each)
        found[f"{name}, random"] = Fixed(unit(noise), labels)
        near = numbers(6, DIMENSIONS, start=900)[labels] + 0.4 * noise
        found[f"{name}, trained"] = Fixed(unit(near), labels)
    return found


def long_batches() -> dict[str, Fixed]:
    """The fixed batches at lengths from 0.5 to 6, as embeddings that are not normalized have."""
    each = 0.5 + 5.5 * (numbers(12, 1, start=40000) + 1) / 2
    return {f"{name}, long": Fixed(x * each, y) for name, (x, y) in fixed_batches().items()}


def mined_batches() -> dict[str, Fixed]:
    """The fixed batches, and one whose classes have five, four and three images."""
    noise = numbers(12, DIMENSIONS, start=50000)
    labels = torch.tensor([0] * 5 + [1] * 4 + [2] * 3)
    near = numbers(6, DIMENSIONS, start=900)[labels] + 0.4 * noise
    return fixed_batches() | {"uneven, trained": Fixed(unit(near), labels)}


def wide_batch() -> Fixed:
    """Twelve images of 512 dimensions, those of a class near each other."""
    labels = torch.arange(12) // 4
    near = numbers(3, 512, start=20000)[labels] + 0.25 * numbers(12, 512, start=30000)
    return Fixed(unit(near), labels)


def features() -> Tensor:
    """Features of images before any normalization, on very different scales: [40, 8]."""
    return numbers(40, 8, start=7000) @ numbers(8, 8, start=8000) * 2.0 ** torch.arange(8) + 1

"""Brightness, contrast, saturation and hue of each image, changed at random."""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import Generator, Tensor

from dmlbench.data.transforms._random import fractions
from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.errors import UserError
from dmlbench.values import Interval, NotNegative, Part

RANDOM = True

_LUMA = (0.2989, 0.587, 0.114)
"""Weights of red, green and blue in gray (ITU-R 601), rounded as torchvision does."""


class ColorJitter(Part):
    """Changes the four by random factors, in a random order, separately for each image.

    As torchvision on float images: a factor is drawn from [1 - x, 1 + x] (not below 0), hue is
    rotated by a fraction of the circle in [-hue, hue]. Saturation and hue do not change gray
    images.

    Args:
        brightness, contrast, saturation: x, 0 or more.
        hue: 0 to 0.5.

    Raises:
        UserError: images with neither one channel nor three.
    """

    brightness: NotNegative = 0.0
    contrast: NotNegative = 0.0
    saturation: NotNegative = 0.0
    hue: Annotated[float, Interval(ge=0, le=0.5)] = 0.0

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        if images.shape[1] not in (1, 3):
            raise UserError(f"color_jitter: images have {images.shape[1]} channels; allowed: 1, 3")
        images = ToFloat()(images).clone()
        draws = fractions(2, len(CHANGES), len(images), generator=generator)
        spreads = (self.brightness, self.contrast, self.saturation, self.hue)
        order, drawn = draws[0].argsort(axis=0), torch.from_numpy(draws[1]).float()
        for place in range(len(CHANGES)):
            for number, (change, spread) in enumerate(zip(CHANGES, spreads, strict=True)):
                rows = torch.from_numpy((order[place] == number).nonzero()[0])
                if spread == 0 or len(rows) == 0 or (images.shape[1] == 1 and number >= 2):
                    continue
                low, high = (-spread, spread) if number == 3 else (max(0, 1 - spread), 1 + spread)
                factors = _on_device_of(low + (high - low) * drawn[number][rows], images)
                rows = _on_device_of(rows, images)
                images[rows] = change(images[rows], factors.view(-1, 1, 1, 1))
        return images


def brighter(images: Tensor, factors: Tensor) -> Tensor:
    """Images times factors."""
    return (images * factors).clamp_(0, 1)


def with_contrast(images: Tensor, factors: Tensor) -> Tensor:
    """Images moved away from (factor above 1) or towards the mean of their gray values."""
    return _blended(images, _gray(images).mean(dim=(1, 2, 3), keepdim=True), factors)


def with_saturation(images: Tensor, factors: Tensor) -> Tensor:
    """Images moved away from or towards their gray values."""
    return _blended(images, _gray(images), factors)


def with_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Images with their hue rotated by a part of the circle; largest and smallest color stay."""
    largest, smallest = images.amax(1, keepdim=True), images.amin(1, keepdim=True)
    spread = largest - smallest
    red, green, blue = images.split(1, dim=1)
    # Where all channels are equal, hue is undefined: the smallest divisor makes it finite.
    distance = torch.where(spread == 0, 1.0, spread)
    hue = torch.where(
        largest == red,
        (green - blue) / distance,
        torch.where(largest == green, 2 + (blue - red) / distance, 4 + (red - green) / distance),
    )
    hue = hue + 6 * turns
    # A color is full within a sixth of the circle to each side, and gone from a third on.
    centers = _on_device_of(torch.tensor([0.0, 2.0, 4.0]), images).view(1, 3, 1, 1)
    away = (hue - centers + 3).remainder(6) - 3
    return smallest + spread * (2 - away.abs()).clamp_(0, 1)


CHANGES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    brighter,
    with_contrast,
    with_saturation,
    with_hue,
)


def _gray(images: Tensor) -> Tensor:
    if images.shape[1] == 1:
        return images
    weights = _on_device_of(torch.tensor(_LUMA), images).view(1, 3, 1, 1)
    return (images * weights).sum(dim=1, keepdim=True)


def _on_device_of(values: Tensor, images: Tensor) -> Tensor:
    # The host does not wait for what the GPU has to do before.
    return values.to(images.device, non_blocking=True)


def _blended(images: Tensor, others: Tensor, factors: Tensor) -> Tensor:
    return (factors * images + (1 - factors) * others).clamp_(0, 1)

"""A box of random area and aspect ratio of each image, resized to a square."""

import numpy as np
from torch import Generator, Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms._random import fractions
from dmlbench.data.transforms._resampling import resized
from dmlbench.values import Count, Part, Positive, PositiveShare, Range

RANDOM = True

_TRIES = 10


class RandomResizedCrop(Part):
    """Crops a random box of each image and resizes it, antialiased bilinear, to a square.

    The box is drawn as torchvision draws it: area and logarithm of the aspect ratio uniform, ten
    tries to fit into the image, else the largest box in the middle whose ratio is allowed.

    Args:
        size: side of the square in pixels.
        scale: smallest and largest area of the box, as a fraction of the image's, in 0..1.
        ratio: smallest and largest width / height of the box, both positive.
    """

    takes_ragged = True

    size: Count
    scale: Range[PositiveShare] = (0.08, 1.0)
    ratio: Range[Positive] = (3 / 4, 4 / 3)

    def __call__(self, images: Tensor | Ragged, generator: Generator | None = None) -> Tensor:
        images = Ragged.of(images)
        boxes = self.boxes(images.sizes, generator)
        sizes = np.full_like(images.sizes, self.size)
        return resized(images.windows(boxes), sizes).padded()

    def boxes(self, sizes: np.ndarray, generator: Generator | None) -> np.ndarray:
        """A box for each image: int64 [B, 4], top, left, height, width."""
        areas, ratios = fractions(2, _TRIES, len(sizes), generator=generator)
        tries = self._box_sizes(sizes, areas, ratios)
        fits = ((tries > 0) & (tries <= sizes)).all(axis=2)
        first = fits.argmax(axis=0)
        chosen = tries[first, np.arange(len(sizes))]
        corners = (fractions(len(sizes), 2, generator=generator) * (sizes - chosen + 1)).astype(
            np.int64
        )
        fallback = self._largest(sizes)
        some = fits.any(axis=0)[:, None]
        chosen = np.where(some, chosen, fallback)
        corners = np.where(some, corners, (sizes - fallback) // 2)
        return np.concatenate([corners, chosen], axis=1)

    def _box_sizes(self, sizes: np.ndarray, areas: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        """Heights and widths [tries, B, 2] for numbers [tries, B] in 0..1."""
        low, high = self.scale
        area = sizes.prod(axis=1) * (low + (high - low) * areas)
        low, high = np.log(self.ratio)
        ratio = np.exp(low + (high - low) * ratios)
        heights_widths = np.stack([np.sqrt(area / ratio), np.sqrt(area * ratio)], axis=2)
        return np.round(heights_widths).astype(np.int64)

    def _largest(self, sizes: np.ndarray) -> np.ndarray:
        """Heights and widths [B, 2] of the largest box whose ratio is allowed."""
        height, width = sizes.T
        low, high = self.ratio
        return np.stack(
            [
                np.where(width / height < low, np.round(width / low), height),
                np.where(width / height > high, np.round(height * high), width),
            ],
            axis=1,
        ).astype(np.int64)

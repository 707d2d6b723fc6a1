"""Resize the shorter side to a length."""

import numpy as np
from torch import Generator, Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms._resampling import resized
from dmlbench.values import Count


class Resize:
    """Resizes each image, antialiased bilinear, so that its shorter side has `size` pixels.

    The longer side keeps the proportion, rounded down as torchvision does.

    Args:
        size: pixels of the shorter side.
    """

    takes_ragged = True

    def __init__(self, *, size: Count):
        self.size = size

    def __call__(
        self, images: Tensor | Ragged, generator: Generator | None = None
    ) -> Tensor | Ragged:
        given = Ragged.of(images)
        shorter = given.sizes.min(axis=1, keepdims=True)
        sizes = self.size * given.sizes // shorter
        if np.array_equal(sizes, given.sizes):
            return images
        out = resized(given, sizes)
        return out if isinstance(images, Ragged) else out.padded()

"""Resize the shorter side to a length, or both sides."""

from typing import Annotated, Literal

import numpy as np
from torch import Generator, Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms._resampling import resized
from dmlbench.values import Added, Count, Part


class Resize(Part):
    """Resizes each image, antialiased bilinear, so that its shorter side has `size` pixels.

    The longer side keeps the proportion, rounded down as torchvision does.

    Args:
        size: pixels of the shorter side.
        aspect: "square" gives both sides `size` pixels, whatever their proportion was.
    """

    takes_ragged = True

    size: Count
    aspect: Annotated[Literal["kept", "square"], Added()] = "kept"

    def __call__(
        self, images: Tensor | Ragged, generator: Generator | None = None
    ) -> Tensor | Ragged:
        given = Ragged.of(images)
        shorter = given.sizes.min(axis=1, keepdims=True)
        sizes = self.size * given.sizes // shorter
        if self.aspect == "square":
            sizes = np.full_like(given.sizes, self.size)
        if np.array_equal(sizes, given.sizes):
            return images
        out = resized(given, sizes)
        return out if isinstance(images, Ragged) else out.padded()

"""A square anywhere in each image."""

import numpy as np
from torch import Generator, Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms._random import fractions
from dmlbench.errors import UserError
from dmlbench.values import CropSize, Part

RANDOM = True


class RandomCrop(Part):
    """A square of `size` pixels of each image, every place in it equally likely.

    Args:
        size: side in pixels.

    Raises:
        UserError: size larger than an image.
    """

    takes_ragged = True

    size: CropSize

    def __call__(self, images: Tensor | Ragged, generator: Generator | None = None) -> Tensor:
        images = Ragged.of(images)
        if self.size > images.sizes.min():
            raise UserError(
                f"random_crop: size is {self.size}; allowed: up to {images.sizes.min()}, "
                "the images' shorter side"
            )
        corner_count = images.sizes - self.size + 1
        corners = (fractions(len(images), 2, generator=generator) * corner_count).astype(np.int64)
        boxes = np.concatenate([corners, np.full_like(corners, self.size)], axis=1)
        return images.windows(boxes).padded()

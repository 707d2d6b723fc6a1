"""The middle of each image."""

import numpy as np
from torch import Generator, Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.errors import UserError
from dmlbench.values import CropSize, Part


class CenterCrop(Part):
    """The square of `size` pixels in the middle, rounded as torchvision does.

    Args:
        size: side in pixels.

    Raises:
        UserError: size larger than the images.
    """

    size: CropSize

    takes_ragged = True

    def __call__(self, images: Tensor | Ragged, generator: Generator | None = None) -> Tensor:
        sizes = images.sizes if isinstance(images, Ragged) else np.array([images.shape[-2:]])
        if self.size > sizes.min():
            raise UserError(
                f"center_crop: size is {self.size}; allowed: up to {sizes.min()}, "
                "the images' shorter side"
            )
        # Halves are rounded to even, by torchvision and by NumPy.
        corners = np.round((sizes - self.size) / 2).astype(np.int64)
        if isinstance(images, Ragged):
            return images.windows(_squares(corners, self.size)).padded()
        ((top, left),) = corners
        return images[..., top : top + self.size, left : left + self.size]


def _squares(corners: np.ndarray, size: CropSize) -> np.ndarray:
    return np.concatenate([corners, np.full_like(corners, size)], axis=1)

"""The middle of each image."""

from torch import Generator, Tensor

from dmlbench.errors import UserError


class CenterCrop:
    """The square of `size` pixels in the middle, rounded as torchvision does.

    Args:
        size: side in pixels.

    Raises:
        UserError: size below 1, or larger than the images.
    """

    def __init__(self, *, size: int):
        if size < 1:
            raise UserError(f"center_crop: size is {size}; allowed: 1 or more")
        self.size = size

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        height, width = images.shape[-2:]
        if self.size > min(height, width):
            raise UserError(
                f"center_crop: size is {self.size}; allowed: up to {min(height, width)}, "
                "the images' shorter side"
            )
        top, left = round((height - self.size) / 2), round((width - self.size) / 2)
        return images[..., top : top + self.size, left : left + self.size]

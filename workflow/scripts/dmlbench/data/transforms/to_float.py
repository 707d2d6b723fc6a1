"""From bytes to fractions."""

import torch
from torch import Generator, Tensor


class ToFloat:
    """uint8 in 0..255 becomes float32 in 0..1; what is float already stays as it is."""

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        return images.float().div_(255) if images.dtype == torch.uint8 else images.float()

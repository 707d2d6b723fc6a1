"""From bytes to fractions."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from dmlbench.data._threads import on_threads


class ToFloat:
    """uint8 in 0..255 becomes float32 in 0..1; what is float already stays as it is."""

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        if images.dtype != torch.uint8:
            return images.float()
        if images.device.type != "cpu":
            return images.float().div_(255)
        return floats_one_by_one(images, images.__getitem__)


def floats_one_by_one(images: Tensor, image: Callable[[int], Tensor]) -> Tensor:
    """float32 [B, C, H, W] of what `image` returns for each place in a batch on the CPU.

    Bytes become fractions. An image stays in the cache until it is done, a batch would not.
    """
    out = torch.empty_like(images, dtype=torch.float32)

    def work(part: slice) -> None:
        for place in range(*part.indices(len(images))):
            room = out[place].copy_(image(place))
            if images.dtype == torch.uint8:
                room.div_(255)

    on_threads(work, len(images))
    return out

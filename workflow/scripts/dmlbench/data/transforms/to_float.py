"""From bytes to fractions."""

import torch
from torch import Generator, Tensor

from dmlbench.data._threads import on_threads

_VALUES_AT_ONCE = 2**18
"""Values that stay in a CPU's cache between two steps."""


class ToFloat:
    """uint8 in 0..255 becomes float32 in 0..1; floats stay unchanged."""

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        if images.dtype != torch.uint8:
            return images.float()
        return _by_parts(images) if images.device.type == "cpu" else images.float().div_(255)


def _by_parts(images: Tensor) -> Tensor:
    out = torch.empty_like(images, dtype=torch.float32)
    step = max(1, _VALUES_AT_ONCE // max(1, images[:1].numel()))

    def work(part: slice) -> None:
        for some, target in zip(images[part].split(step), out[part].split(step), strict=True):
            target.copy_(some).div_(255)

    on_threads(work, len(images))
    return out

"""One random number for each image of a batch."""

import torch
from torch import Generator, Tensor


def uniform(images: Tensor, low: float, high: float, generator: Generator | None) -> Tensor:
    """Numbers [B] in low..high, drawn where the generator lives, on the images' device."""
    source = generator.device if generator is not None else images.device
    drawn = torch.rand(len(images), generator=generator, device=source)
    return low + (high - low) * drawn.to(images.device, non_blocking=True)

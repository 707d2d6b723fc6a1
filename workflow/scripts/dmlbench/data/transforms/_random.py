"""Random numbers for the images of a batch."""

import numpy as np
import torch
from torch import Generator, Tensor


def uniform(images: Tensor, low: float, high: float, generator: Generator | None) -> Tensor:
    """Numbers [B] in low..high, drawn on the generator's device and moved to the images'."""
    source = generator.device if generator is not None else images.device
    drawn = torch.rand(len(images), generator=generator, device=source)
    return low + (high - low) * drawn.to(images.device, non_blocking=True)


def fractions(*shape: int, generator: Generator | None) -> np.ndarray:
    """float64 in [0, 1), for what must be known on the CPU, such as where to crop."""
    device = generator.device if generator is not None else "cpu"
    drawn = torch.rand(shape, generator=generator, device=device, dtype=torch.float64)
    return drawn.cpu().numpy()

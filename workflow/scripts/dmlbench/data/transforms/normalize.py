"""Zero mean and unit variance, by statistics per channel."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.errors import UserError
from dmlbench.values import Positive


class Normalize:
    """(image - mean) / std, channel by channel.

    Args:
        mean, std: of each channel, or one for all, in 0..1; std is positive.

    Raises:
        UserError: mean and std of different length, or not as many as the images have channels.
    """

    def __init__(self, *, mean: Sequence[float], std: Sequence[Positive]):
        if len(std) != len(mean):
            raise UserError(f"normalize: std is {std}; allowed: {len(mean)} positive numbers")
        self.mean = torch.tensor(mean).view(1, -1, 1, 1)
        self.std = torch.tensor(std).view(1, -1, 1, 1)

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        channels, given = images.shape[1], self.mean.shape[1]
        if given not in (1, channels):
            raise UserError(f"normalize: mean has {given} numbers, the images {channels} channels")
        self.mean, self.std = self.mean.to(images.device), self.std.to(images.device)
        return (ToFloat()(images) - self.mean).div_(self.std)

"""Mirror images, some of them."""

import torch
from torch import Generator, Tensor

from dmlbench.data.transforms._random import uniform
from dmlbench.data.transforms.to_float import ToFloat, floats_one_by_one
from dmlbench.errors import UserError


class RandomHorizontalFlip:
    """Flips each image left to right with a probability; bytes become floats on the way.

    Args:
        probability: 0 to 1.

    Raises:
        UserError: a probability that is none.
    """

    def __init__(self, *, probability: float = 0.5):
        if not 0 <= probability <= 1:
            raise UserError(
                f"random_horizontal_flip: probability is {probability}; allowed: 0 to 1"
            )
        self.probability = probability

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        flipped = uniform(images, 0.0, 1.0, generator) < self.probability
        if images.device.type != "cpu":
            return ToFloat()(torch.where(flipped[:, None, None, None], images.flip(-1), images))
        flips = flipped.tolist()
        return floats_one_by_one(
            images, lambda place: images[place].flip(-1) if flips[place] else images[place]
        )

"""Mirror random images."""

import torch
from torch import Generator, Tensor

from dmlbench.data._threads import on_threads
from dmlbench.data.transforms._random import uniform
from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.values import Part, Share

RANDOM = True


class RandomHorizontalFlip(Part):
    """Flips each image left to right with a probability; bytes become floats on the way.

    Args:
        probability: 0 to 1.
    """

    probability: Share = 0.5

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        flipped = uniform(images, 0.0, 1.0, generator) < self.probability
        if images.device.type != "cpu":
            return ToFloat()(torch.where(flipped[:, None, None, None], images.flip(-1), images))
        # Images one by one on a CPU, converted to floats while they are in its cache.
        out, flips = torch.empty_like(images, dtype=torch.float32), flipped.tolist()

        def work(part: slice) -> None:
            for image, target, flip in zip(images[part], out[part], flips[part], strict=True):
                target.copy_(image.flip(-1) if flip else image)
                if images.dtype == torch.uint8:
                    target.div_(255)

        on_threads(work, len(images))
        return out

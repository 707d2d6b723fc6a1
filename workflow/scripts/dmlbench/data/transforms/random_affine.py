"""Random rotation, shift and scale of each image of a batch, in one resampling."""

import torch
from torch import Generator, Tensor
from torch.nn.functional import affine_grid, grid_sample

from dmlbench.data.transforms._random import uniform
from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.values import Angle, Part, Positive, Range, Share

RANDOM = True


class RandomAffine(Part):
    """Rotates, scales and shifts each image about its center; bilinear, the border repeated.

    Args:
        degrees: the largest rotation to either side, 0 to 180.
        translate: the largest shift in each direction, as a fraction of the side, 0 to 1.
        scale: the smallest and the largest factor, both positive.
    """

    degrees: Angle = 0.0
    translate: Share = 0.0
    scale: Range[Positive] = (1.0, 1.0)

    def __call__(self, images: Tensor, generator: Generator | None = None) -> Tensor:
        images = ToFloat()(images)
        height, width = images.shape[-2:]
        angle = uniform(images, -self.degrees, self.degrees, generator).deg2rad()
        scale = uniform(images, *self.scale, generator)
        # In affine_grid's coordinates an image is 2 wide and 2 high.
        shift_x = uniform(images, -2 * self.translate, 2 * self.translate, generator)
        shift_y = uniform(images, -2 * self.translate, 2 * self.translate, generator)

        # The inverse map: where each pixel of the result comes from.
        cos, sin = angle.cos() / scale, angle.sin() / scale
        linear = torch.stack(
            [cos, sin * height / width, -sin * width / height, cos], dim=1
        ).unflatten(1, (2, 2))
        shift = torch.stack([shift_x, shift_y], dim=1)[:, :, None]
        grid = affine_grid(
            torch.cat([linear, -linear @ shift], dim=2), images.shape, align_corners=False
        )
        return grid_sample(images, grid, padding_mode="border", align_corners=False)

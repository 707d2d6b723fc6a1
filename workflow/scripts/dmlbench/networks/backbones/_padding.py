"""TensorFlow's padding, for networks whose weights come from there."""

import torch.nn.functional as F
from torch import Tensor, nn


def pad_like_tensorflow(network: nn.Module) -> None:
    """Pad before each convolution with a stride by as few pixels as the size needs.

    The odd pixel is at the bottom and on the right, so that images of even size are sampled a pixel
    further down and to the right than with symmetric padding.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and module.stride != (1, 1):
            module.padding = (0, 0)
            module.register_forward_pre_hook(_pad)


def _pad(convolution: nn.Conv2d, inputs: tuple[Tensor]) -> Tensor:
    (maps,) = inputs
    sides = []
    for size, kernel, stride in zip(
        maps.shape[:1:-1], convolution.kernel_size[::-1], convolution.stride[::-1], strict=True
    ):
        missing = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        sides += [missing // 2, missing - missing // 2]
    return F.pad(maps, sides)

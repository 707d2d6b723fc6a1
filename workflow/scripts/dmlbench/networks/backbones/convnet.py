"""A plain convolutional network for small images."""

import itertools
from collections.abc import Sequence

from torch import Tensor, nn

from dmlbench.values import Count


class ConvNet(nn.Module):
    """Blocks of 3x3 convolution, BatchNorm, ReLU and 2x2 maximum pooling.

    With four blocks of 64 channels this is the network that few-shot learning runs on Omniglot.

    Args:
        input_channels: 1 for gray images, 3 for color.
        widths: channels of each block; every block halves the image.
    """

    def __init__(self, input_channels: int, *, widths: Sequence[Count] = (64, 64, 64, 64)):
        super().__init__()
        pairs = itertools.pairwise((input_channels, *widths))
        self.blocks = nn.Sequential(*(_block(*pair) for pair in pairs))
        self.features = widths[-1]

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, widths[-1], H / 2^blocks, W / 2^blocks] of images [B, C, H, W]."""
        return self.blocks(images)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2, ceil_mode=True),
    )

"""A plain convolutional network for small images."""

import itertools

from torch import Tensor, nn


class ConvNet(nn.Module):
    """Blocks of 3x3 convolution, BatchNorm, ReLU and 2x2 maximum pooling.

    With four blocks of 64 channels this is the network that few-shot learning runs on Omniglot.

    Args:
        input_channels: 1 for grey images, 3 for colour.
        blocks: how often the image is halved.
        channels: width of every block.
    """

    def __init__(self, input_channels: int, *, blocks: int = 4, channels: int = 64):
        super().__init__()
        widths = [input_channels] + [channels] * blocks
        self.blocks = nn.Sequential(*(_block(*pair) for pair in itertools.pairwise(widths)))
        self.features = channels

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, channels, H / 2^blocks, W / 2^blocks] of images [B, C, H, W]."""
        return self.blocks(images)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2, ceil_mode=True),
    )

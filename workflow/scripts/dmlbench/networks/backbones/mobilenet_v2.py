"""MobileNetV2 (Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018)."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn
from torchvision import models

from dmlbench.networks.backbones._published import Published


class MobileNetV2(Published):
    """torchvision's network without its classifier.

    Args:
        input_channels: must be 3.
        padding: of convolutions with a stride. `symmetric` adds a pixel on every side.
            `tensorflow` adds as few as the size needs, and the odd one at the bottom and on the
            right: images of even size are sampled a pixel further down and to the right.
    """

    classifier = ("classifier.",)

    def __init__(
        self, input_channels: int, *, padding: Literal["symmetric", "tensorflow"] = "symmetric"
    ):
        network = models.mobilenet_v2()
        del network.classifier
        super().__init__(network, network.last_channel, input_channels)
        if padding == "tensorflow":
            for module in network.modules():
                if isinstance(module, nn.Conv2d) and module.stride != (1, 1):
                    module.padding = (0, 0)
                    module.register_forward_pre_hook(_pad_like_tensorflow)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 1280, H / 32, W / 32], rounded up, of images [B, 3, H, W]."""
        return self.body.features(images)


def _pad_like_tensorflow(convolution: nn.Conv2d, inputs: tuple[Tensor]) -> Tensor:
    (maps,) = inputs
    sides = []
    for size, kernel, stride in zip(
        maps.shape[:1:-1], convolution.kernel_size[::-1], convolution.stride[::-1], strict=True
    ):
        missing = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        sides += [missing // 2, missing - missing // 2]
    return F.pad(maps, sides)

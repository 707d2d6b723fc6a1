"""MobileNetV2 (Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018)."""

from typing import Literal

from torch import Tensor
from torchvision import models

from dmlbench.networks.backbones._padding import pad_like_tensorflow
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
            pad_like_tensorflow(network)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 1280, H / 32, W / 32], rounded up, of images [B, 3, H, W]."""
        return self.body.features(images)

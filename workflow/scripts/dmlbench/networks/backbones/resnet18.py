"""ResNet-18 (He et al., Deep Residual Learning for Image Recognition, 2016), as in torchvision."""

from torch import Tensor
from torchvision import models

from dmlbench.networks.backbones._published import Published, trunk


class ResNet18(Published):
    """The residual network of 18 layers without its classifier.

    Args:
        input_channels: must be 3.
    """

    classifier = ("fc.",)

    def __init__(self, input_channels: int):
        super().__init__(trunk(models.resnet18(), ("avgpool", "fc")), 512, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 512, H / 32, W / 32], rounded up, of images [B, 3, H, W]."""
        return self.body(images)

"""ResNet-50 (He et al., Deep Residual Learning for Image Recognition, 2016), as in torchvision."""

from torch import Tensor
from torchvision import models

from dmlbench.networks.backbones._published import Published, trunk


class ResNet50(Published):
    """The residual network of 50 layers without its classifier.

    The stride of a halving block is in its 3x3 convolution (torchvision's variant), not in the
    first 1x1 convolution, where the paper has it.

    Args:
        input_channels: must be 3.
    """

    classifier = ("fc.",)

    def __init__(self, input_channels: int):
        super().__init__(trunk(models.resnet50(), ("avgpool", "fc")), 2048, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 2048, H / 32, W / 32], rounded up, of images [B, 3, H, W]."""
        return self.body(images)

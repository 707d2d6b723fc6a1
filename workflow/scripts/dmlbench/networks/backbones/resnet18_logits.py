"""ResNet-18 with its classifier: the embedding layer takes its outputs."""

from torch import Tensor, nn
from torchvision import models

from dmlbench.networks.backbones._published import Published, trunk


class ResNet18Logits(Published):
    """The residual network of 18 layers in full, to the 1,000 outputs of its classifier.

    Args:
        input_channels: must be 3.

    Source: karaman2021, section 4.1.1: the embedding layer has an input size of 1,000.
    """

    def __init__(self, input_channels: int):
        network = models.resnet18()
        body = trunk(network, ("fc",))
        body.add_module("flatten", nn.Flatten())
        body.add_module("fc", network.fc)
        super().__init__(body, network.fc.out_features, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Outputs as maps of one pixel, [B, 1000, 1, 1], of images [B, 3, H, W]."""
        return self.body(images)[:, :, None, None]

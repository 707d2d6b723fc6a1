"""GoogLeNet (Szegedy et al., Going Deeper with Convolutions, 2015), as in torchvision."""

from torch import Tensor
from torchvision import models

from dmlbench.networks.backbones._published import Published, trunk


class GoogLeNet(Published):
    """The Inception network with BatchNorm, without classifier and auxiliary classifiers.

    Images are not transformed: torchvision's `transform_input` is off.

    Args:
        input_channels: must be 3.
    """

    classifier = ("fc.", "aux1.", "aux2.")

    def __init__(self, input_channels: int):
        network = models.GoogLeNet(aux_logits=False, transform_input=False, init_weights=True)
        super().__init__(trunk(network, ("avgpool", "dropout", "fc")), 1024, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 1024, H / 32, W / 32] of images [B, 3, H, W], sides multiples of 32."""
        return self.body(images)

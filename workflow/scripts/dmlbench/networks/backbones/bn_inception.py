"""BNInception (Ioffe & Szegedy, Batch Normalization, 2015), as in the package pretrainedmodels."""

import torch
from torch import Tensor

from dmlbench.networks.backbones._published import Published

# Importing the package draws random numbers: the first training of a process, which would import it
# after seeding, would begin with other weights than the second.
with torch.random.fork_rng(devices=[]):
    from pretrainedmodels.models.bninception import BNInception as _Network

VERSION = 2


class BNInception(Published):
    """The Inception network with BatchNorm that was ported from Caffe, without its classifier.

    Its published weights take colors as blue, green, red in 0..255.

    Args:
        input_channels: must be 3.
    """

    classifier = ("last_linear.",)

    def __init__(self, input_channels: int):
        network = _Network()
        del network.last_linear
        super().__init__(network, 1024, input_channels)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 1024, H / 32, W / 32] of images [B, 3, H, W], sides multiples of 32."""
        return self.body.features(images)

"""EfficientNet-Lite0 (Tan & Le, EfficientNet, 2019; its Lite variant, 2020)."""

import re

from torch import Tensor, nn
from torchvision.ops import Conv2dNormActivation

from dmlbench.networks.backbones._padding import pad_like_tensorflow
from dmlbench.networks.backbones._published import Published

# Of each stage: blocks, kernel, stride of the first block, expansion, output channels.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
STEM, FEATURES = 32, 1280
_PARTS = ("_expand_conv", "_bn0", "_depthwise_conv", "_bn1", "_project_conv", "_bn2")


class EfficientNetLite0(Published):
    """The network without its classifier, with TensorFlow's padding, as its weights were trained.

    Unlike EfficientNet-B0 it has ReLU6 and no squeeze-and-excitation. Paths are not dropped at
    random when it is trained.

    Args:
        input_channels: must be 3.
    """

    classifier = ("classifier.",)
    stages = STAGES

    def __init__(self, input_channels: int):
        stages, channels = [_convolution(3, STEM, 3, stride=2)], STEM
        for blocks, kernel, stride, expansion, output in self.stages:
            widths = [channels] + [output] * blocks
            strides = [stride] + [1] * (blocks - 1)
            stages.append(
                nn.Sequential(
                    *(
                        _Block(before, after, kernel, each, expansion)
                        for before, after, each in zip(widths, widths[1:], strides, strict=False)
                    )
                )
            )
            channels = output
        stages.append(_convolution(channels, FEATURES, 1))
        network = nn.Module()
        network.features = nn.Sequential(*stages)
        super().__init__(network, FEATURES, input_channels)
        pad_like_tensorflow(network)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps [B, 1280, H / 32, W / 32], rounded up, of images [B, 3, H, W]."""
        return self.body.features(images)

    @classmethod
    def renamed(cls, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by torchvision-like names, from a file with those or efficientnet_pytorch's."""
        counted = [
            (stage, n) for stage, (blocks, *_) in enumerate(cls.stages) for n in range(blocks)
        ]
        places = {
            f"_blocks.{number}": f"features.{stage + 1}.{block}.block"
            for number, (stage, block) in enumerate(counted)
        }
        ends = {"_conv_stem": "features.0.0", "_bn0": "features.0.1", "_fc": "classifier.1"}
        last = len(cls.stages) + 1
        ends |= {"_conv_head": f"features.{last}.0", "_bn1": f"features.{last}.1"}

        def renamed(name: str) -> str:
            layer, _, kind = name.rpartition(".")
            found = re.fullmatch(r"(_blocks\.\d+)\.(\w+)", layer)
            if not found:
                return f"{ends.get(layer, layer)}.{kind}"
            block, part = found.groups()
            parts = _PARTS if f"{block}._expand_conv.weight" in weights else _PARTS[2:]
            return f"{places[block]}.{parts.index(part) // 2}.{parts.index(part) % 2}.{kind}"

        return {renamed(name): tensor for name, tensor in weights.items()}


class _Block(nn.Module):
    """An inverted residual block: expand, filter each channel, project."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int):
        super().__init__()
        width = before * expansion
        expand = [_convolution(before, width, 1)] if expansion > 1 else []
        self.block = nn.Sequential(
            *expand,
            _convolution(width, width, kernel, stride=stride, groups=width),
            _convolution(width, after, 1, activation_layer=None),
        )
        self.is_residual = stride == 1 and before == after

    def forward(self, maps: Tensor) -> Tensor:
        return maps + self.block(maps) if self.is_residual else self.block(maps)


def _convolution(before: int, after: int, kernel: int, **options) -> Conv2dNormActivation:
    options = {"activation_layer": nn.ReLU6} | options
    # TensorFlow's EfficientNets add 0.001 to a variance, not 0.00001.
    norm = lambda channels: nn.BatchNorm2d(channels, eps=1e-3)  # noqa: E731
    return Conv2dNormActivation(before, after, kernel, norm_layer=norm, **options)

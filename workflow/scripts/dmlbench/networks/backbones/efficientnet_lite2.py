"""EfficientNet-Lite2 (Tan & Le, EfficientNet, 2019; its Lite variant, 2020)."""

from dmlbench.networks.backbones.efficientnet_lite0 import EfficientNetLite0


class EfficientNetLite2(EfficientNetLite0):
    """EfficientNet-Lite0, but deeper and wider.

    Args:
        input_channels: must be 3.
    """

    stages = (
        (1, 3, 1, 1, 16),
        (3, 3, 2, 6, 24),
        (3, 5, 2, 6, 48),
        (4, 3, 2, 6, 88),
        (4, 5, 1, 6, 120),
        (5, 5, 2, 6, 208),
        (1, 3, 1, 6, 352),
    )

"""ViT-S/16 (Dosovitskiy et al., 2021; the small size is that of Touvron et al., DeiT, 2021)."""

import re
from typing import Annotated

from torch import Tensor
from torch.nn import Identity
from torchvision import models

from dmlbench.errors import UserError
from dmlbench.networks.backbones._published import Published, Token
from dmlbench.values import Interval, MultipleOf

# DeiT's names, which timm shares, and torchvision's.
_NAMES = (
    (r"cls_token", "class_token"),
    (r"pos_embed", "encoder.pos_embedding"),
    (r"patch_embed\.proj\.", "conv_proj."),
    (r"norm\.", "encoder.ln."),
    (r"blocks\.(\d+)\.norm(\d)\.", r"encoder.layers.encoder_layer_\1.ln_\2."),
    (r"blocks\.(\d+)\.attn\.qkv\.", r"encoder.layers.encoder_layer_\1.self_attention.in_proj_"),
    (r"blocks\.(\d+)\.attn\.proj\.", r"encoder.layers.encoder_layer_\1.self_attention.out_proj."),
    (r"blocks\.(\d+)\.mlp\.fc1\.", r"encoder.layers.encoder_layer_\1.mlp.0."),
    (r"blocks\.(\d+)\.mlp\.fc2\.", r"encoder.layers.encoder_layer_\1.mlp.3."),
)


class ViTS16(Published):
    """The vision transformer of 12 blocks, 384 channels and 6 heads on patches of 16 x 16 pixels.

    It has no feature maps: it returns the class token, for `pooling: token`.

    Args:
        input_channels: must be 3.
        image_size: side of the square images, a multiple of 16.
    """

    classifier = ("heads.", "head.")

    def __init__(
        self,
        input_channels: int,
        *,
        image_size: Annotated[int, Interval(ge=16), MultipleOf(16)] = 224,
    ):
        network = models.VisionTransformer(
            image_size=image_size,
            patch_size=16,
            num_layers=12,
            num_heads=6,
            hidden_dim=384,
            mlp_dim=1536,
        )
        network.heads = Identity()
        super().__init__(network, 384, input_channels)
        self.image_size = image_size

    def forward(self, images: Tensor) -> Token:
        """The class token [B, 384] of images [B, 3, image_size, image_size].

        Raises:
            UserError: images of another size.
        """
        height, width = images.shape[-2:]
        if (height, width) != (self.image_size, self.image_size):
            raise UserError(
                f"vit_s16: images of {height} x {width} pixels; allowed: image_size, which is "
                f"{self.image_size}, squared"
            )
        return self.body(images)

    @staticmethod
    def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Tensors by torchvision's names, from a file with those or DeiT's names."""
        return {_torchvision_name(name): tensor for name, tensor in weights.items()}


def _torchvision_name(name: str) -> str:
    for pattern, replacement in _NAMES:
        if re.match(pattern, name):
            return re.sub(f"^{pattern}", replacement, name)
    return name

"""From images to embeddings: backbone, pooling, one linear layer, L2 normalisation."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dmlbench import registry
from dmlbench.plan.spec import Spec

POOLING = {
    "average": lambda maps: maps.mean(dim=(2, 3)),
    "maximum": lambda maps: maps.amax(dim=(2, 3)),
    "sum": lambda maps: maps.mean(dim=(2, 3)) + maps.amax(dim=(2, 3)),
}


class Embedder(nn.Module):
    """The network of a spec.

    The head is one linear layer, Kaiming-initialised over its outputs, with zero bias (the head
    of psomas2020's public code; its text is silent).

    Args:
        spec: says which backbone, pooling, embedding size and input normalisation.
    """

    def __init__(self, spec: Spec):
        super().__init__()
        network = spec.network
        context = {"input_channels": len(network.mean)}
        self.backbone = registry.build(
            "networks/backbones",
            network.backbone.name,
            context=context,
            **network.backbone.hyperparameters,
        )
        self.pool = POOLING[network.pooling]
        self.head = nn.Linear(self.backbone.features, spec.embedding_dim)
        nn.init.kaiming_normal_(self.head.weight, mode="fan_out")
        nn.init.zeros_(self.head.bias)
        self.normalize = spec.normalize
        self.frozen_batchnorm = spec.frozen_batchnorm
        for name, values in (("mean", network.mean), ("std", network.std)):
            self.register_buffer(name, torch.tensor(values).view(1, -1, 1, 1), persistent=False)
        # Twice as fast in training and three times in evaluation on a CPU, faster on a GPU.
        self.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings [B, D] of images [B, C, H, W] with values in [0, 1]."""
        images = images.contiguous(memory_format=torch.channels_last)
        maps = self.backbone((images - self.mean) / self.std)
        embeddings = self.head(self.pool(maps))
        return F.normalize(embeddings) if self.normalize else embeddings

    def train(self, mode: bool = True) -> "Embedder":
        """Training mode; a frozen BatchNorm keeps its running statistics all the same."""
        super().train(mode)
        if self.frozen_batchnorm:
            for module in self.modules():
                if isinstance(module, nn.modules.batchnorm._BatchNorm):
                    module.eval()
        return self

"""The network of a run, from images to embeddings."""

from torch import Tensor, nn

from dmlbench.networks.embedder import Embedder, Extractor
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.embedding import steps


class ImageEmbedder(nn.Module):
    """Backbone and head of a run, also of one whose backbone is frozen.

    Attributes:
        extractor: the frozen backbone; nothing if the embedder has the backbone.
        embedder: the trained network, whose weights the run's folder has.

    Args:
        spec: the run's.
    """

    def __init__(self, spec: Spec):
        super().__init__()
        is_frozen = spec.network.frozen is not None
        self.extractor = Extractor(spec.network) if is_frozen else nn.Identity()
        self.embedder = Embedder(spec, self.extractor.width if is_frozen else None)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings [B, D] of images [B, C, H, W] with values in [0, 1], colors as RGB."""
        return self.embedder(self.extractor(images))


def evaluation_steps(spec: Spec) -> list[dict]:
    """What turns packed images into the network's input when a run is scored, as plain values."""
    frozen = spec.network.frozen
    return steps(spec.transforms.test if frozen is None else frozen)

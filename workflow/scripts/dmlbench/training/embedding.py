"""Embeddings of many images, batch by batch."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from dmlbench.data.feed import Feed
from dmlbench.data.transforms import build_transforms
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.catalogs.choices import Transform
from dmlbench.plan.specs.spec import Spec

BATCH = 256
Transformation = Callable[[Tensor, torch.Generator | None], Tensor]

# Pixels of the images that a CPU embeds at a time: more take gigabytes and are not faster.
_CPU_PIXELS = 1 << 20


def steps(transforms: list[Transform]) -> list[dict]:
    """A recipe's transforms as `build_transforms` takes them."""
    return [{transform.name: transform.hyperparameters} for transform in transforms]


def embed_images(spec: Spec, network: Embedder, feed: Feed, image_ids: np.ndarray) -> Tensor:
    """Embed images with the test transforms.

    Returns:
        float32 [N, D], on the CPU, in the order of `image_ids`.
    """
    transform = build_transforms(steps(spec.transforms.test))
    was_training = network.training
    embeddings = embedded(network.eval(), feed, image_ids, transform)
    network.train(was_training)
    return embeddings


@torch.inference_mode()
def embedded(
    network: nn.Module, feed: Feed, image_ids: np.ndarray, transform: Transformation
) -> Tensor:
    """Images as a network in evaluation mode gives them.

    Returns:
        float32 [N, D], on the CPU, in the order of `image_ids`.
    """
    batches = np.array_split(image_ids, max(1, -(-len(image_ids) // BATCH)))
    vectors = [
        network(some).float().cpu()
        for images in feed.batches(batches)
        for some in _few(transform(images, None))
    ]
    return torch.cat(vectors)


def _few(images: Tensor) -> tuple[Tensor, ...]:
    """Images [B, C, H, W], or features [B, F], in chunks that suit their device."""
    if images.is_cuda:
        return (images,)
    return images.split(max(1, _CPU_PIXELS // images[0, 0].numel()))

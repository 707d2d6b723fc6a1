"""Embeddings of many images, batch by batch."""

import numpy as np
import torch
from torch import Tensor

from dmlbench.data.feed import Feed
from dmlbench.data.transforms import build_transforms
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.choices import Transform
from dmlbench.plan.spec import Spec

BATCH = 256


def steps(transforms: list[Transform]) -> list[dict]:
    """A recipe's transforms as `build_transforms` takes them."""
    return [{transform.name: transform.hyperparameters} for transform in transforms]


@torch.inference_mode()
def embed_images(spec: Spec, network: Embedder, feed: Feed, image_ids: np.ndarray) -> Tensor:
    """Embed images with the test transforms.

    Returns:
        float32 [N, D], on the CPU, in the order of `image_ids`.
    """
    transform = build_transforms(steps(spec.transforms.test))
    was_training = network.training
    network.eval()
    batches = np.array_split(image_ids, max(1, -(-len(image_ids) // BATCH)))
    embeddings = [
        network(transform(images, None)).float().cpu() for images in feed.batches(batches)
    ]
    network.train(was_training)
    return torch.cat(embeddings)

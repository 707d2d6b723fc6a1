"""A head that is not learned: the principal components of the training images' features."""

import numpy as np
import torch
from torch import nn

from dmlbench.data.feed import Feed
from dmlbench.errors import UserError
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec
from dmlbench.training.embedding import embed_images


@torch.no_grad()
def use_principal_components(
    spec: Spec, network: Embedder, feed: Feed, image_ids: np.ndarray
) -> None:
    """Make the head the centered projection onto the components of largest variance.

    The components are those of the backbone's pooled features of the given images with the test
    transforms; signs are such that each component's largest weight is positive.

    Args:
        spec: the network's, for transforms and embedding size.
        network: its head is changed in place.
        feed: the packed images.
        image_ids: which images; the training ones.

    Raises:
        UserError: more dimensions than principal components of these features and images.
    """
    components, mean = principal_components(_features(spec, network, feed, image_ids))
    most = min(len(components), len(image_ids) - 1)
    if spec.embedding_dim > most:
        raise UserError(
            f"embedding_dim {spec.embedding_dim}: {len(image_ids)} images with "
            f"{len(components)} features have {most} principal components; allowed: {most} or fewer"
        )
    weight = components[: spec.embedding_dim]
    network.head.weight.copy_(weight)
    network.head.bias.copy_(-weight @ mean)


def principal_components(features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Components [F, F] as rows, by descending variance, and mean [F] of features [N, F]; float64.

    >>> points = torch.tensor([[0.0, 0.0], [0.0, 2.0]])
    >>> principal_components(points)[0][0]
    tensor([0., 1.], dtype=torch.float64)
    """
    features = features.double()
    mean = features.mean(0)
    centered = features - mean
    _, vectors = torch.linalg.eigh(centered.T @ centered)
    components = vectors.T.flip(0)
    largest = components.gather(1, components.abs().argmax(1, keepdim=True))
    return components * largest.sign(), mean


def _features(spec: Spec, network: Embedder, feed: Feed, image_ids: np.ndarray) -> torch.Tensor:
    """The head's inputs, [N, F]."""
    head, normalize = network.head, network.normalize
    network.head, network.normalize = nn.Identity(), False
    features = embed_images(spec, network, feed, image_ids)
    network.head, network.normalize = head, normalize
    return features

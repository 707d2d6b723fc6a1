"""A head that is not learned: the principal components of images' features."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from dmlbench.data.feed import Feed
from dmlbench.errors import UserError
from dmlbench.evaluation.roles import scored
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.data import Images
from dmlbench.training.embedding import embed_images


@torch.no_grad()
def use_principal_components(
    spec: Spec, network: Embedder, feed: Feed, roles: Mapping[str, Images]
) -> None:
    """Make the head the centered projection onto the components of largest variance.

    The components are those of the backbone's pooled features with the test transforms; signs are
    such that each component's largest weight is positive. By the spec's `head_initialization`:

    - `principal_components`: of the training images.
    - `standardized_components`: of the test images (queries and gallery), each feature divided by
      its standard deviation first. So the public code of musgrave2020 scores pretrained networks;
      the projection has seen what it is scored on.

    Args:
        spec: the network's, for transforms and embedding size.
        network: its head is changed in place.
        feed: the packed images.
        roles: the split's images by role.

    Raises:
        UserError: more dimensions than principal components of these features and images; no test
            images for `standardized_components`.
    """
    standardized = spec.head_initialization == "standardized_components"
    image_ids = _test_ids(roles) if standardized else roles["train"].ids
    features = _features(spec, network, feed, image_ids)
    most = min(features.shape[1], len(image_ids) - 1)
    if spec.embedding_dim > most:
        raise UserError(
            f"embedding_dim {spec.embedding_dim}: {len(image_ids)} images with "
            f"{features.shape[1]} features have {most} principal components; allowed: {most} or "
            "fewer"
        )
    projection = standardized_projection if standardized else centered_projection
    weight, bias = projection(features, spec.embedding_dim)
    network.head.weight.copy_(weight)
    network.head.bias.copy_(bias)


def centered_projection(features: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight [size, F] and bias [size] that project features [N, F] onto their components."""
    components, mean = principal_components(features)
    weight = components[:size]
    return weight, -weight @ mean


def standardized_projection(features: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same of features that are divided by their standard deviation first, if it is not 0."""
    deviations = features.double().std(0, correction=0)
    deviations = torch.where(deviations > 0, deviations, 1)
    weight, bias = centered_projection(features / deviations, size)
    return weight / deviations, bias


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


def _test_ids(roles: Mapping[str, Images]) -> np.ndarray:
    if "test" not in scored(roles):
        raise UserError(
            "head_initialization standardized_components: the split has no test images; it has "
            f"{sorted(roles)}"
        )
    return np.concatenate([roles[role].ids for role in scored(roles)["test"]])


def _features(spec: Spec, network: Embedder, feed: Feed, image_ids: np.ndarray) -> torch.Tensor:
    """The head's inputs, [N, F]."""
    head, normalize = network.head, network.normalize
    network.head, network.normalize = nn.Identity(), False
    features = embed_images(spec, network, feed, image_ids)
    network.head, network.normalize = head, normalize
    return features

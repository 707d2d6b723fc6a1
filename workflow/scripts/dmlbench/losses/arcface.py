"""ArcFace loss."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._proxies import new_proxies, own_and_others
from dmlbench.values import Angle, Positive


class ArcFace(nn.Module):
    """Cross-entropy of scale cos(theta_j), with cos(theta_y + margin) for the own class.

    theta_j is the angle between embedding and class weight j; the mean over the batch, where
    psomas2020 eq. 2.29 prints the sum. The equation is followed literally, even if theta_y + margin
    exceeds 180 degrees. roth2020 eq. 6: scale 16, margin 0.5 rad.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        scale: factor on the cosines.
        margin: angle added to theta_y, in degrees, in [0, 180].
    """

    def __init__(
        self, num_classes: int, embedding_dim: int, *, scale: Positive = 64, margin: Angle = 28.6
    ):
        super().__init__()
        self.scale, self.margin = scale, math.radians(margin)
        self.proxies = new_proxies(num_classes, embedding_dim)

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        own, others = own_and_others(unit(embeddings) * self.scale, unit(self.proxies), labels)
        cosine = own / self.scale
        # the smallest sine keeps the slope finite if embedding and weight are parallel
        sine = (1 - cosine.square()).clamp_min(torch.finfo(cosine.dtype).eps).sqrt()
        with_margin = cosine * math.cos(self.margin) - sine * math.sin(self.margin)
        return softplus(others - self.scale * with_margin).mean()

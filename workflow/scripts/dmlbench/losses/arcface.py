"""ArcFace loss."""

import math
from typing import Annotated

import torch
from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import NEVER, products, unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others
from dmlbench.values import Added, Angle, Positive


class ArcFace(LossWithProxies):
    """Cross-entropy of scale cos(theta_j), with cos(theta_y + margin) for the own class.

    theta_j is the angle between embedding and class weight j; the mean over the batch, where
    psomas2020 eq. 2.29 prints the sum. The equation is followed literally, even if theta_y + margin
    exceeds 180 degrees: there a larger angle gives a smaller loss. pytorch-metric-learning 2.9.0
    takes cos(theta_y) - margin sin(margin) instead, which keeps falling with the angle.
    roth2020 eq. 6: scale 16, margin 0.5 rad.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        scale: factor on the cosines.
        margin: angle added to theta_y, in degrees, in [0, 180].
        clamped: whether a negative cosine counts as 0, without a gradient, as in the public code of
            roth2020. Until February 2021 that code had no margin: it added one to all logits.
    """

    scale: Positive = 64
    margin: Angle = 28.6
    clamped: Annotated[bool, Added()] = False

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        x, proxies = unit(embeddings) * self.scale, unit(self.proxies)
        if self.clamped:
            logits = products(x, proxies).relu()
            own = logits.gather(1, labels[:, None]).squeeze(1)
            others = logits.scatter(1, labels[:, None], NEVER).logsumexp(1)
        else:
            own, others = own_and_others(x, proxies, labels)
        cosine = own / self.scale
        # the smallest sine keeps the slope finite if embedding and weight are parallel
        sine = (1 - cosine.square()).clamp_min(torch.finfo(cosine.dtype).eps).sqrt()
        margin = math.radians(self.margin)
        with_margin = cosine * math.cos(margin) - sine * math.sin(margin)
        return softplus(others - self.scale * with_margin).mean()

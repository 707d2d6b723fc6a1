"""CosFace loss."""

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others
from dmlbench.values import Positive


class CosFace(LossWithProxies):
    """Mean cross-entropy of scale cos(theta_j), with cos(theta_y) - margin for the own class.

    theta_j is the angle between embedding and proxy j. Source: Wang et al. 2018 (CosFace) eq. 4,
    which musgrave2020 runs.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        scale: factor on the cosines.
        margin: subtracted from the own class's cosine.
    """

    scale: Positive = 64
    margin: float = 0.35

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        x = unit(embeddings) * self.scale
        own, others = own_and_others(x, unit(self.proxies), labels)
        return softplus(others - own + self.scale * self.margin).mean()

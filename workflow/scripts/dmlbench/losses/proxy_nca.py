"""ProxyNCA loss."""

from torch import Tensor

from dmlbench.losses._geometry import unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others
from dmlbench.values import Positive


class ProxyNca(LossWithProxies):
    """Mean of -log(e^(scale w_y x) / sum_(j != y) e^(scale w_j x)), w and x of unit length.

    The own proxy is not in the denominator, so the loss may be negative.
    Source: psomas2020 eq. 2.27 (a sum over the batch there, the mean here); proxies and
    embeddings are normalized as in Movshovitz-Attias et al. 2017, whose squared distances
    are scale=2. roth2020 eq. 13 has plain distances: `proxy_nca_euclidean`.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        scale: factor on the cosine similarities.
    """

    scale: Positive = 1

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        own, others = own_and_others(unit(embeddings) * self.scale, unit(self.proxies), labels)
        return (others - own).mean()

"""ProxyNCA loss on Euclidean distances."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import NEVER, products, unit
from dmlbench.losses._loss import LossWithProxies


class ProxyNcaEuclidean(LossWithProxies):
    """Mean of -log(e^-|x - w_y| / sum_(j != y) e^-|x - w_j|), x and w of unit length.

    The own proxy is not in the denominator, so the loss may be negative; a distance of 0 has
    gradient 0. Source: roth2020 eq. 13; `proxy_nca` with scale=2 has squared distances.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
    """

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        squared = 2 - 2 * products(unit(embeddings), unit(self.proxies))
        apart = squared > 16 * torch.finfo(squared.dtype).eps
        d = torch.where(apart, torch.where(apart, squared, 1).sqrt(), 0)
        own = d.gather(1, labels[:, None]).squeeze(1)
        return (own + (-d).scatter(1, labels[:, None], NEVER).logsumexp(1)).mean()

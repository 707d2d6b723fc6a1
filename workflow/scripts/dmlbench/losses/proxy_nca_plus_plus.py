"""ProxyNCA++ loss."""

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others
from dmlbench.values import Positive


class ProxyNcaPlusPlus(LossWithProxies):
    """Mean of -log of the softmax over all proxies of -|x - w|^2 / temperature, at the own proxy.

    x and w have unit length; the own proxy is in the denominator, unlike in `proxy_nca`.
    Source: Teh et al. 2020 (ProxyNCA++), probability of a proxy assignment with temperature.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        temperature: divisor of the squared distances.
    """

    temperature: Positive = 1 / 9

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        # |x - w|^2 = 2 - 2 x w, and the softmax does not see the constant
        x = unit(embeddings) * (2 / self.temperature)
        own, others = own_and_others(x, unit(self.proxies), labels)
        return softplus(others - own).mean()

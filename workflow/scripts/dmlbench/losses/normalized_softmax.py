"""Normalized softmax loss."""

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others
from dmlbench.values import Positive


class NormalizedSoftmax(LossWithProxies):
    """Mean of the cross-entropy of the cosine similarities to the class proxies, over temperature.

    Source: Zhai and Wu 2018. roth2020 eq. 19 prints the denominator without the own class; the
    cited loss has it.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        temperature: divisor of the cosine similarities.
    """

    temperature: Positive = 0.05

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        x = unit(embeddings) / self.temperature
        own, others = own_and_others(x, unit(self.proxies), labels)
        return softplus(others - own).mean()

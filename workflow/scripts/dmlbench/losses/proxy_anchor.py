"""ProxyAnchor loss."""

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import own_and_others_of_proxies, pull_to_proxies
from dmlbench.values import Positive


class ProxyAnchor(LossWithProxies):
    """Each proxy softly pulls its far positives and pushes the near samples of other classes.

    Mean over the proxies w with a positive in the batch of
    log(1 + sum_(x in X_w+) e^(-alpha (w x - margin))), plus mean over all proxies of
    log(1 + sum_(x in X_w-) e^(alpha (w x + margin))); w and x have unit length.
    Source: psomas2020 eq. 2.31.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        alpha: factor on the similarities.
        margin: similarity by which positives and negatives should differ from 0.
    """

    alpha: Positive = 32
    margin: float = 0.1

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        x, alpha_margin = self.alpha * unit(embeddings), self.alpha * self.margin
        own, others = own_and_others_of_proxies(x, unit(self.proxies), labels)
        pull = pull_to_proxies(alpha_margin - own, labels, len(self.proxies))
        return pull + softplus(others + alpha_margin).mean()

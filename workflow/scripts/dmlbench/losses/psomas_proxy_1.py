"""Psomas's proxy loss, variation 1."""

from typing import Annotated, Literal

from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import unit
from dmlbench.losses._gram import log_sum_exp_of_others
from dmlbench.losses._loss import LossWithProxies
from dmlbench.losses._proxies import absent_classes, pull_to_proxies
from dmlbench.values import Added, Positive

VERSION = 2
FORMERLY = {"psomas_proxy_1_absent": {"negatives": "absent"}}


class PsomasProxy1(LossWithProxies):
    """Proxies softly pull their far positives and push each other.

    Mean over the proxies w with a positive in the batch of
    log(1 + sum_(x in X_w+) e^(-alpha (w x - margin))), plus mean over all proxies of
    log(1 + sum_(v != w) e^(alpha (w v + margin))) over the other proxies v; all of unit length.
    Source: psomas2020 eq. 6.1, whose W- is not defined: all other proxies, or, as its W+ has the
    classes of the batch, those of classes absent from it. A batch that holds every class then has
    no push: that sum is 0. Its alpha and margin are not printed: ProxyAnchor's.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        alpha: factor on the similarities.
        margin: similarity by which positives and negatives should differ from 0.
        negatives: the other proxies v: "all", or those of classes "absent" from the batch.
    """

    alpha: Positive = 32
    margin: float = 0.1
    negatives: Annotated[Literal["all", "absent"], Added()] = "all"

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        w, x = unit(self.proxies), unit(embeddings)
        own = (w[labels] * x).sum(1)
        pull = pull_to_proxies(self.alpha * (self.margin - own), labels, len(w))
        among = absent_classes(labels, len(w)) if self.negatives == "absent" else None
        others = log_sum_exp_of_others(self.compared(w, x), self.alpha, among)
        return pull + softplus(others + self.alpha * self.margin).mean()

    def compared(self, w: Tensor, x: Tensor) -> Tensor:
        """Vectors [C, ...] of the proxies w [C, D] whose dot products are their similarities.

        Args:
            x: the embeddings of the batch, [B, D].
        """
        return w

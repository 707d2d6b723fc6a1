"""Psomas's proxy loss, variation 2."""

from typing import Annotated, Literal

from torch import Tensor, nn
from torch.nn.functional import softplus

from dmlbench.losses._geometry import products, unit
from dmlbench.losses._gram import log_sum_exp_of_others
from dmlbench.losses._proxies import absent_classes, new_proxies, pull_to_proxies
from dmlbench.values import Added, Positive

VERSION = 2
FORMERLY = {"psomas_proxy_2_absent": {"negatives": "absent"}}


class PsomasProxy2(nn.Module):
    """Proxies softly pull their far positives and push each other as the batch sees them.

    As `psomas_proxy_1`, with the similarity w v of two proxies replaced by
    sum_x (w x)(x v) over the batch. Source: psomas2020 eq. 6.2 (a sum, so it grows with the
    batch), read as in `psomas_proxy_1`. Its alpha and margin are not printed: ProxyAnchor's.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        alpha: factor on the similarities.
        margin: similarity by which positives and negatives should differ from 0.
        negatives: the other proxies v: "all", or those of classes "absent" from the batch.
    """

    def __init__(
        self,
        num_classes: int,
        embedding_dim: int,
        *,
        alpha: Positive = 32,
        margin: float = 0.1,
        negatives: Annotated[Literal["all", "absent"], Added()] = "all",
    ):
        super().__init__()
        self.alpha, self.margin, self.negatives = alpha, margin, negatives
        self.proxies = new_proxies(num_classes, embedding_dim)

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        w, x = unit(self.proxies), unit(embeddings)
        own = (w[labels] * x).sum(1)
        pull = pull_to_proxies(self.alpha * (self.margin - own), labels, len(w))
        among = absent_classes(labels, len(w)) if self.negatives == "absent" else None
        others = log_sum_exp_of_others(products(w, x), self.alpha, among)
        return pull + softplus(others + self.alpha * self.margin).mean()

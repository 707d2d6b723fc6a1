"""The equation and its source. `dmlbench add-loss my_loss` copies this file to begin with.

Hyper-parameters are fields with defaults, and the plan checks their types and ranges
(`dmlbench.values`). A loss with proxies is a `LossWithProxies` and leaves `tuples` out; any
`nn.Module` is a loss, too, with facts of the data (num_classes, embedding_dim) as positional
arguments and hyper-parameters as keyword-only ones. A loss that divides by the number of
embeddings, not of tuples, says so in an attribute, `mean_over_anchors = True`, which cross-batch
memory needs (`dmlbench/losses/_memory.py`). An edit that changes values raises VERSION.
"""

from torch import Tensor

from dmlbench.losses._geometry import cosine_similarities, total
from dmlbench.losses._loss import Loss
from dmlbench.tuples import Pairs, all_pairs


class Template(Loss):
    """Mean over the positive pairs of [margin - S_ij]_+, S the cosine similarity.

    Source: author, year, equation. Deviations from it, and why.

    Args:
        margin: similarity above which a positive pair is left alone.
    """

    margin: float = 0.5

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Pairs | None = None) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B], over `tuples` or all pairs."""
        S = cosine_similarities(embeddings)
        positive, _ = tuples or all_pairs(labels)
        return total((self.margin - S).relu(), positive) / positive.sum().clamp_min(1)

"""Parts of the margin and contrastive losses."""

from torch import Tensor

from dmlbench.losses._geometry import indicator
from dmlbench.tuples import Pairs


def margin_loss(far: Tensor, beta: Tensor | float, margin: float, pairs: Pairs) -> Tensor:
    """[far - beta + margin]_+ on positive, [beta - far + margin]_+ on negative pairs.

    The sum is divided by the number of pairs with a loss above 0, as in Wu et al. 2017.

    Args:
        far: how far j is from i, [B, B]: a distance or a negated similarity.
        beta: boundary between positive and negative pairs, a scalar or one per anchor [B, 1].
    """
    sign = indicator(pairs.positive, far.dtype) - indicator(pairs.negative, far.dtype)
    return mean_of_nonzero((sign * (far - beta) + margin).relu() * sign.abs())


def mean_of_nonzero(loss: Tensor) -> Tensor:
    """Mean of the entries above 0 of a matrix without negative ones; 0 if there are none."""
    return loss.sum() / loss.count_nonzero().clamp_min(1)

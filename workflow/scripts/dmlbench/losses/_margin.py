"""The margin loss of a matrix of distances."""

import torch
from torch import Tensor

from dmlbench.tuples import Pairs


def margin_loss(far: Tensor, beta: Tensor | float, margin: float, pairs: Pairs) -> Tensor:
    """[far - beta + margin]_+ on positive, [beta - far + margin]_+ on negative pairs.

    The sum is divided by the number of pairs with a loss above 0, as in Wu et al. 2017.

    Args:
        far: how far j is from i, [B, B]: a distance or a negated similarity.
        beta: boundary between positive and negative pairs, a scalar or one per anchor [B, 1].
    """
    beyond = far - beta
    loss = (torch.where(pairs.positive, beyond, -beyond) + margin).relu()
    loss = torch.where(pairs.positive | pairs.negative, loss, 0)
    return loss.sum() / (loss > 0).sum().clamp_min(1)

"""The lifted structure loss of a matrix of distances."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import log_sum_exp, total
from dmlbench.tuples import Pairs


def lifted_structure(far: Tensor, margin: float, pairs: Pairs) -> Tensor:
    """Mean over positive pairs of 1/2 [log(sum_k e^(margin - far_ik) + sum_l ...) + far_ij]_+^2.

    Args:
        far: how far j is from i, [B, B]: a distance or a negated similarity.
        pairs: positive pairs (i, j), and the negatives k of i and l of j.
    """
    near = log_sum_exp(margin - far, pairs.negative)
    violation = (_log_add_exp(near[:, None], near) + far).relu()
    return total(violation.square(), pairs.positive) / 2 / pairs.positive.sum().clamp_min(1)


def _log_add_exp(a: Tensor, b: Tensor) -> Tensor:
    # several times faster on a CPU than torch.logaddexp
    return torch.maximum(a, b) + softplus(-(a - b).abs())

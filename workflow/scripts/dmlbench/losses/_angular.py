"""The angular term of the angular losses."""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from dmlbench.losses._geometry import indicator, products
from dmlbench.tuples import Pairs


def angular_terms(S: Tensor, alpha: float, pairs: Pairs) -> Tensor:
    """log(1 + sum_n exp(4 t (S_an + S_pn) - 2 (1 + t) S_ap)), t = tan(alpha)^2, for all a, p.

    Args:
        S: cosine similarities [B, B].
        alpha: in degrees.
        pairs: n runs over the negatives of a.
    """
    t = math.tan(math.radians(alpha)) ** 2
    # sum_n e^(4 t S_an) e^(4 t S_pn) is a matrix product; S <= 1 keeps the factors below 1
    near = (4 * t * (S - 1)).exp()
    of_a = near * indicator(pairs.negative, S.dtype)
    summed = products(of_a, near).clamp_min(torch.finfo(S.dtype).tiny)
    any_negative = pairs.negative.any(1, keepdim=True).to(S.dtype)
    return softplus(summed.log() + 8 * t - 2 * (1 + t) * S) * any_negative

"""Soft histograms of a batch's pairs."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import indicator
from dmlbench.tuples import Pairs


def soft_histograms(
    values: Tensor, pairs: Pairs, low: float, high: float, nodes: int
) -> tuple[Tensor, Tensor]:
    """Each anchor's histograms of its positive and of its negative pairs.

    A value adds 1 in total, shared linearly between the two nodes around it.

    Args:
        values: [B, B]; clamped to low and high.
        nodes: number of nodes, evenly spaced from low to high.

    Returns:
        Two tensors [B, nodes].
    """
    place = ((values - low) * ((nodes - 1) / (high - low))).clamp(0, nodes - 1)
    # NaN has no node; it makes the first two nodes NaN
    left = place.detach().floor().clamp_max_(nodes - 2).nan_to_num_()
    weight = indicator(pairs.positive | pairs.negative, values.dtype)
    to_right = (place - left) * weight
    column = left.long() + pairs.negative * nodes
    both = torch.zeros_like(values[:, :1]).repeat(1, 2 * nodes)
    both = both.scatter_add(1, column, weight - to_right).scatter_add(1, column + 1, to_right)
    return both[:, :nodes], both[:, nodes:]

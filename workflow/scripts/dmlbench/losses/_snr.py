"""Signal-to-noise distances."""

import torch
from torch import Tensor

from dmlbench.losses._geometry import squared_distances


def snr_distances(x: Tensor) -> Tensor:
    """|x_i - x_j|^2 / |x_i|^2: the noise's energy over the anchor's, [B, D] to [B, B]."""
    energy = x.square().sum(1, keepdim=True)
    return squared_distances(x) / energy.clamp_min(torch.finfo(x.dtype).eps)

"""Where a negative causes forces in a triplet: what an in-loss miner keeps."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dmlbench.losses import forces


def kept_region(loss: nn.Module, pair: Tensor, extent: Sequence[float], grid: int) -> np.ndarray:
    """Whether a negative at each place of a grid causes a force on any point of a triplet.

    Args:
        loss: one that takes triplets.
        pair: anchor and positive, float64 [2, 2].
        extent: x from, x to, y from, y to.
        grid: places along a side.

    Returns:
        bool [grid, grid], rows from low to high y.
    """
    x, y = np.linspace(*extent[:2], grid), np.linspace(*extent[2:], grid)
    negative = torch.from_numpy(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    anchor, positive = (point.expand_as(negative) for point in pair)
    moved = torch.cat(forces(loss, anchor, positive, negative), dim=1) != 0
    return moved.any(1).view(grid, grid).numpy()

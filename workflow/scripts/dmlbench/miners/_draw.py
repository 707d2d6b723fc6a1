"""Random draws from the rows of a matrix, on its device and from torch's global generator."""

import torch
from torch import Tensor


def draw_columns(weights: Tensor, wanted: Tensor) -> Tensor:
    """Columns drawn from each row with probability proportional to its weights, with replacement.

    The weights are integers so that their running sum is exact: the same on every device, and a
    column of weight zero is never drawn.

    Args:
        weights: int64 or bool [R, C], >= 0.
        wanted: bool [R, M], True where a draw is needed.

    Returns:
        int64 [R, M]; an arbitrary column where none is wanted or the row's weights are all zero.
    """
    cumulative = weights.cumsum(dim=1)
    total = cumulative[:, -1:]
    uniform = torch.rand(wanted.shape, dtype=torch.float64, device=weights.device)
    target = torch.minimum((uniform * total).long(), total - 1)
    # A search for zero returns immediately; only the wanted draws take time.
    columns = torch.searchsorted(cumulative, target.masked_fill(~wanted, 0), right=True)
    return columns.clamp(max=weights.shape[1] - 1)


def choose_positives(positive: Tensor, positives: str) -> Tensor:
    """All positive pairs [B, B] ("all"), or one of each anchor, drawn at random ("one")."""
    if positives == "all":
        return positive
    drawn = draw_columns(positive, positive.any(dim=1, keepdim=True))
    return positive & torch.zeros_like(positive).scatter(1, drawn, True)

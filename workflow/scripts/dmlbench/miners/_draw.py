"""Random draws from the rows of a matrix, on its device and from torch's global generator."""

import torch
from torch import Tensor

from dmlbench.errors import UserError


def draw_columns(weights: Tensor, draws: int) -> Tensor:
    """Columns drawn from each row with probability proportional to its weights, with replacement.

    The weights are integers so that their running sum is exact: the same on every device, and a
    column of weight zero is never drawn.

    Args:
        weights: int64 or bool [R, C], >= 0.
        draws: columns drawn from each row.

    Returns:
        int64 [R, draws]; any column where a row's weights are all zero.
    """
    cumulative = weights.cumsum(dim=1)
    total = cumulative[:, -1:]
    uniform = torch.rand(len(weights), draws, dtype=torch.float64, device=weights.device)
    target = torch.minimum((uniform * total).long(), total - 1)
    columns = torch.searchsorted(cumulative, target, right=True)
    return columns.clamp(max=weights.shape[1] - 1)


def choose_positives(positive: Tensor, positives: str) -> Tensor:
    """All positive pairs [B, B] ("all"), or one of each anchor, drawn at random ("one")."""
    if positives == "all":
        return positive
    drawn = draw_columns(positive, 1)
    return positive & torch.zeros_like(positive).scatter(1, drawn, True)


def check_positives(positives: str, allowed: tuple[str, ...] = ("all", "one")) -> str:
    """The value of the hyper-parameter `positives`, or a UserError that lists the allowed ones."""
    if positives not in allowed:
        raise UserError(f"positives = {positives!r}; allowed: {', '.join(allowed)}")
    return positives

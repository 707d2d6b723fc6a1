"""The forces of a triplet loss: how each point of a triplet is pulled and pushed."""

import torch
from torch import Tensor, nn

from dmlbench.tuples import Triplets

_AT_ONCE = 64


def forces(
    loss: nn.Module, anchor: Tensor, positive: Tensor, negative: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a triplet loss with respect to anchor, positive and negative of each triplet.

    These are the forces of karaman2021, tables 3.1-3.3 and figures 3.4-3.7; gradient descent moves
    a point against its gradient.

    Args:
        loss: any loss that takes `Triplets` and averages over them.
        anchor, positive, negative: float [T, D], one triplet per row.

    Returns:
        Three tensors [T, D].
    """
    parts = zip(*(x.split(_AT_ONCE) for x in (anchor, positive, negative)), strict=True)
    a, p, n = zip(*(_forces(loss, *part) for part in parts), strict=True)
    return torch.cat(a), torch.cat(p), torch.cat(n)


def _forces(loss: nn.Module, anchor: Tensor, positive: Tensor, negative: Tensor) -> list[Tensor]:
    """`forces` in one batch of 3 T points, with matrices of its size squared."""
    count, dimension = anchor.shape
    points = torch.stack([anchor, positive, negative], dim=1).flatten(0, 1).detach()
    points.requires_grad_()
    first = 3 * torch.arange(count, device=anchor.device)
    index = torch.zeros(3 * count, 3 * count, dtype=torch.int64, device=anchor.device)
    valid = torch.zeros_like(index, dtype=torch.bool)
    index[first, first + 1] = first + 2
    valid[first, first + 1] = True
    labels = torch.stack([first, first, first + 1], dim=1).flatten()
    summed = count * loss(points, labels, Triplets(negative=index, valid=valid))
    (gradient,) = torch.autograd.grad(summed, points)
    return list(gradient.view(count, 3, dimension).unbind(1))

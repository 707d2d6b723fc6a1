"""Parts of the losses that compare a sample with one learned vector per class."""

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import NEVER


def new_proxies(num_classes: int, embedding_dim: int) -> nn.Parameter:
    """One learnable vector per class, [C, D], drawn from torch's global generator."""
    return nn.Parameter(
        nn.init.kaiming_normal_(torch.empty(num_classes, embedding_dim), mode="fan_out")
    )


def own_and_others(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Each sample's logit of its own class, and log of the sum of exp over the other classes.

    The cross-entropy is softplus(others - own).

    Args:
        logits: [B, C].
        labels: [B] int64.

    Returns:
        own and others, each [B]; with a single class, others is about NEVER.
    """
    rows = torch.arange(len(labels), device=labels.device)
    others = logits.scatter(1, labels[:, None], NEVER).logsumexp(1)
    return logits[rows, labels], others


def pull_to_proxies(exponents: Tensor, labels: Tensor, num_classes: int) -> Tensor:
    """Mean, over the classes of the batch, of log(1 + sum of exp over the class's samples).

    Args:
        exponents: one for each sample, [B].
        labels: [B] int64.
        num_classes: number of classes C.
    """
    none = exponents.new_zeros(num_classes)
    largest = none.scatter_reduce(0, labels, exponents.detach(), "amax")
    total = (-largest).exp().index_add(0, labels, (exponents - largest[labels]).exp())
    present = none.index_fill(0, labels, 1).sum()
    return (largest + total.log()).sum() / present

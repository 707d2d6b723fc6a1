"""Parts of the losses that compare a sample with one learned vector per class."""

import torch
from torch import Tensor, nn

from dmlbench.losses._geometry import NEVER, softmax_and_log_sum_exp, through_softmax
from dmlbench.losses._step import Step, added


def new_proxies(num_classes: int, embedding_dim: int) -> nn.Parameter:
    """One learnable vector per class, [C, D], drawn from torch's global generator."""
    return nn.Parameter(
        nn.init.kaiming_normal_(torch.empty(num_classes, embedding_dim), mode="fan_out")
    )


def own_and_others(x: Tensor, proxies: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """x's dot product with its own class's proxy, and log of the sum of exp over the others.

    The cross-entropy is softplus(others - own).

    Args:
        x: [B, D].
        proxies: [C, D].
        labels: [B] int64.

    Returns:
        own and others, each [B]; with a single class, others is about NEVER.
    """
    return _OwnAndOthers.apply(x, proxies, _count_up(labels), labels)[:2]


def own_and_others_of_proxies(x: Tensor, proxies: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """x's dot product with its own proxy, and log of the sum of exp over a proxy's other samples.

    Args:
        x: [B, D].
        proxies: [C, D].
        labels: [B] int64.

    Returns:
        own [B] and others [C]: over the samples of other classes, about NEVER for none.
    """
    return _OwnAndOthers.apply(proxies, x, labels, _count_up(labels))[:2]


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


def absent_classes(labels: Tensor, num_classes: int) -> Tensor:
    """Which classes have no sample among the labels [B]: bool [C]."""
    everyone = torch.ones(num_classes, dtype=torch.bool, device=labels.device)
    return everyone.index_fill(0, labels, False)


def _count_up(labels: Tensor) -> Tensor:
    return torch.arange(len(labels), device=labels.device)


class _OwnAndOthers(Step):
    # one matrix of logits is kept for the backward pass, where autograd would keep three
    @staticmethod
    def forward(rows, columns, own_row, own_column):
        logits = rows @ columns.T
        own = logits[own_row, own_column]
        logits[own_row, own_column] = NEVER
        share, others = softmax_and_log_sum_exp(logits)
        return own, others, share

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad_own, grad_others, grad_share):
        rows, columns, own_row, own_column, share = ctx.saved_tensors
        parts = []
        if grad_others is not None:
            parts.append(share * grad_others[:, None])
        if grad_share is not None:
            parts.append(through_softmax(share, grad_share))
        grad = added(parts) if parts else torch.zeros_like(share)
        # the share of the own entry is 0, and so is its gradient so far
        grad[own_row, own_column] = 0 if grad_own is None else grad_own
        return grad @ columns, grad.T @ rows, None, None

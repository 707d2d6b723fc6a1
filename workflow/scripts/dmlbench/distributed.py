"""One loss over the batches of all processes of a distributed training."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def size() -> int:
    """The number of processes; 1 if torch.distributed is not initialized."""
    return dist.get_world_size() if _is_distributed() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if _is_distributed() else 0


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes, in the order of their ranks; the same tensor in one process.

    A loss of gathered embeddings is the loss of the whole batch, in every process:

        network = DistributedDataParallel(network)
        embeddings, labels = gather(network(images)), gather(labels)
        loss(embeddings, labels, miner(embeddings, labels)).backward()

    Gradients flow back to the process that a row comes from, summed over processes.
    DistributedDataParallel then averages the network's gradients, which makes them those of the
    whole batch in one process, up to rounding. Parameters of the loss get equal gradients
    everywhere, so they need no such wrapper; they must begin equal. A miner that draws at random
    must draw the same in every process: seed all with the same number.

    Args:
        rows: [b, ...]; b may differ between processes, all other sizes and the type may not.

    Returns:
        [B, ...], where B is the sum of all b.
    """
    if size() == 1:
        return rows
    counts = torch.zeros(size(), dtype=torch.int64, device=rows.device)
    counts[rank()] = len(rows)
    dist.all_reduce(counts)
    before, after = counts.split([rank() + 1, size() - rank() - 1])
    parts = (int(before.sum()) - len(rows), int(after.sum()))
    above, below = (rows.new_zeros(count, *rows.shape[1:]) for count in parts)
    return summed(torch.cat([above, rows, below]))


def summed(x: Tensor) -> Tensor:
    """The sum of a tensor over processes, with gradient."""
    return _Sum.apply(x)


def average_gradients(parameters: list[nn.Parameter]) -> None:
    """Replace gradients by their mean over processes; all must have those of the same parameters.

    As DistributedDataParallel does, for a loop whose parameters may begin to learn later.
    """
    if size() == 1:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    for kind in dict.fromkeys(gradient.dtype for gradient in gradients):
        alike = [gradient for gradient in gradients if gradient.dtype == kind]
        flat = torch.cat([gradient.flatten() for gradient in alike])
        dist.all_reduce(flat)
        means = (flat / size()).split([gradient.numel() for gradient in alike])
        for gradient, mean in zip(alike, means, strict=True):
            gradient.copy_(mean.view_as(gradient))


def from_first(value: object) -> object:
    """The value of the first process, in all of them."""
    if size() == 1:
        return value
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.contiguous().clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        return total


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()

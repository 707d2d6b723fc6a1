"""Steps of small networks, on a batch or on a process's share of it; a script for torchrun.

The rows of a batch are shared unevenly.
"""

import sys

import torch
import torch.distributed as dist
from dmlbench.distributed import gather, rank
from dmlbench.losses import CrossBatchMemory, build_loss
from dmlbench.miners import build_miner
from dmlbench.networks.synchronized_batchnorm import synchronized
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH, CLASSES, DIMENSION = 24, 4, 6
SHARES = [slice(0, 9), slice(9, BATCH)]
"""The rows of each process."""


def contrastive(kind):
    return build_loss("contrastive", num_classes=CLASSES, embedding_dim=DIMENSION), None


def proxies(kind):
    loss = build_loss("proxy_anchor", num_classes=CLASSES, embedding_dim=DIMENSION)
    return loss.to(kind), None


def random_miner(kind):
    loss = build_loss("triplet", num_classes=CLASSES, embedding_dim=DIMENSION, margin=5)
    return loss, build_miner("random")


def memory(kind):
    loss = build_loss("contrastive", num_classes=CLASSES, embedding_dim=DIMENSION)
    return CrossBatchMemory(loss, size=40, start=1), None


CASES = {function.__name__: function for function in (contrastive, proxies, random_miner, memory)}


def steps(case: str, kind: torch.dtype, batchnorm: bool = False) -> dict[str, torch.Tensor]:
    """Losses, last gradients and weights of three steps."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(5, 8, bias=not batchnorm),  # which BatchNorm would take away again
        nn.BatchNorm1d(8) if batchnorm else nn.Tanh(),
        nn.Tanh(),
        nn.Linear(8, DIMENSION),
    ).to(kind)
    loss, miner = CASES[case](kind)
    batches = torch.randn(3, BATCH, 5, dtype=kind)
    labels = torch.arange(BATCH) % CLASSES
    own = slice(None)
    trained = network
    if dist.is_initialized():
        own = SHARES[rank()]
        trained = DistributedDataParallel(synchronized(network) if batchnorm else network)
    parameters = [*network.parameters(), *loss.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    losses = []
    for batch in batches:
        x, y = gather(trained(batch[own])), gather(labels[own])
        tuples = [] if miner is None else [miner(x.detach(), y)]
        value = loss(x, y, *tuples)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    found = {"losses": torch.stack(losses)}
    for number, parameter in enumerate(parameters):
        found |= {f"weight {number}": parameter.detach(), f"gradient {number}": parameter.grad}
    return found | {key: buffer.clone() for key, buffer in network.named_buffers()}


def every(kind: torch.dtype) -> dict[str, dict[str, torch.Tensor]]:
    """The steps of each case, and of a network with BatchNorm."""
    found = {case: steps(case, kind) for case in CASES}
    return found | {"batchnorm": steps("contrastive", kind, batchnorm=True)}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    found = {kind: every(kind) for kind in (torch.float32, torch.float64)}
    torch.save(found, f"{sys.argv[1]}/{rank()}.pt")
    dist.destroy_process_group()

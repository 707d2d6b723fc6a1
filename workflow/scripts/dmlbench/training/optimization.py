"""Optimizers, learning rates by parameter group, and the step schedule."""

import torch
from torch import nn

from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec


def build_optimizer(spec: Spec, network: Embedder, loss: nn.Module) -> torch.optim.Optimizer:
    """The spec's optimizer over three groups: backbone, head and the loss's own parameters.

    Each group keeps its learning rate of the first epoch as `first_rate`.
    """
    settings = spec.optimizer
    loss_rate = spec.loss_learning_rate
    if loss_rate is None:
        loss_rate = settings.learning_rate * spec.loss_factor
    rates = [
        (network.backbone, settings.learning_rate),
        (network.head, settings.learning_rate * spec.head_factor),
        (loss, loss_rate),
    ]
    groups = [{"params": list(module.parameters()), "lr": rate} for module, rate in rates]
    groups = [group | {"first_rate": group["lr"]} for group in groups if group["params"]]
    common = {"weight_decay": settings.weight_decay}
    if settings.fused:
        common["fused"] = True
    match settings.name:
        case "adamw":
            return torch.optim.AdamW(groups, betas=settings.betas, **common)
        case "adam":
            return torch.optim.Adam(groups, betas=settings.betas, **common)
        case "rmsprop":
            return torch.optim.RMSprop(groups, momentum=settings.momentum, **common)
        case "sgd":
            return torch.optim.SGD(groups, momentum=settings.momentum, **common)


def set_learning_rates(spec: Spec, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """Put the learning rates of an epoch (counted from 1) into the optimizer."""
    schedule = spec.schedule
    decay = schedule.gamma ** ((epoch - 1) // schedule.step) if schedule else 1.0
    for group in optimizer.param_groups:
        group["lr"] = group["first_rate"] * decay

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
    factors = [
        (network.backbone, 1.0),
        (network.head, spec.head_factor),
        (loss, spec.loss_factor),
    ]
    groups = [
        {"params": list(module.parameters()), "lr": settings.learning_rate * factor}
        for module, factor in factors
    ]
    groups = [group | {"first_rate": group["lr"]} for group in groups if group["params"]]
    decay = {"weight_decay": settings.weight_decay}
    match settings.name:
        case "adamw":
            return torch.optim.AdamW(groups, betas=settings.betas, **decay)
        case "adam":
            return torch.optim.Adam(groups, betas=settings.betas, **decay)
        case "rmsprop":
            return torch.optim.RMSprop(groups, momentum=settings.momentum, **decay)
        case "sgd":
            return torch.optim.SGD(groups, momentum=settings.momentum, **decay)


def set_learning_rates(spec: Spec, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    """Put the learning rates of an epoch (counted from 1) into the optimizer."""
    schedule = spec.schedule
    decay = schedule.gamma ** ((epoch - 1) // schedule.step) if schedule else 1.0
    for group in optimizer.param_groups:
        group["lr"] = group["first_rate"] * decay

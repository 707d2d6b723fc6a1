"""Optimizers, learning rates by parameter group, and the step schedule."""

import inspect
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from dmlbench.plan.catalogs.recipes import Optimizer, StepSchedule


def build_optimizer(
    settings: Optimizer,
    rates: Iterable[tuple[nn.Module, float]],
    decays: Mapping[nn.Module, float] | None = None,
) -> torch.optim.Optimizer:
    """An optimizer with a group for each module that has parameters.

    Each group keeps its learning rate of the first epoch as `first_rate`.

    Args:
        settings: which optimizer; its learning rate is ignored.
        rates: modules with their learning rates of the first epoch.
        decays: modules with a weight decay of their own.
    """
    groups = [
        {
            "params": list(module.parameters()),
            "lr": rate,
            "first_rate": rate,
            "weight_decay": (decays or {}).get(module, settings.weight_decay),
        }
        for module, rate in rates
    ]
    groups = [group for group in groups if group["params"]]
    common = {"fused": True} if settings.fused else {}
    match settings.name:
        case "adamw":
            return _eager(torch.optim.AdamW)(groups, betas=settings.betas, **common)
        case "adam":
            return _eager(torch.optim.Adam)(groups, betas=settings.betas, **common)
        case "rmsprop":
            return _eager(torch.optim.RMSprop)(groups, momentum=settings.momentum, **common)
        case "sgd":
            return _eager(torch.optim.SGD)(groups, momentum=settings.momentum, **common)


def _eager(optimizer: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """The same optimizer without loading torch's compiler, in each of many short jobs.

    The decorators of these methods load it, to exclude the methods from compilation. Measured: a
    process that builds an optimizer takes 2.8 s of CPU time instead of 4.7 s (medians of 5 runs
    each, in turn).
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(optimizer, name)) for name in names}
    methods["step"] = torch.no_grad()(inspect.unwrap(optimizer.step))
    # torch wraps a step without this mark in its profiler and hooks, which nobody here uses.
    methods["step"].hooked = True
    return type(optimizer.__name__, (optimizer,), methods)


def set_learning_rates(
    schedule: StepSchedule | None, optimizer: torch.optim.Optimizer, epoch: int
) -> None:
    """Set the optimizer's learning rates of an epoch (counted from 1)."""
    decay = schedule.gamma ** ((epoch - 1) // schedule.step) if schedule else 1.0
    for group in optimizer.param_groups:
        group["lr"] = group["first_rate"] * decay

"""Autograd steps of losses: any of autograd's and torch.func's gradients, in full precision."""

import functools
import inspect
from collections.abc import Callable

import torch
from torch import Tensor

from dmlbench.tensors import autocasts


class Step(torch.autograd.Function):
    """A step with a backward pass of its own, which autocast does not change.

    The backward pass uses inputs and outputs of its step, never other intermediate results, which
    have no graph: so it can be differentiated itself, and `torch.func.grad` can follow it. What it
    needs beyond that is a further output, which only the backward pass uses; gradients that are
    None are of outputs that were not used.
    """

    def __init_subclass__(cls):
        super().__init_subclass__()
        # torch asks for it at each call, which takes longer than a small step
        cls.forward.__signature__ = inspect.signature(cls.forward)
        cls.backward = staticmethod(_in_full_precision(cls.backward))


def added(gradients: list[Tensor]) -> Tensor | None:
    """The sum of gradients; None if there are none, as where no output was used."""
    return functools.reduce(torch.add, gradients) if gradients else None


def _in_full_precision(backward: Callable) -> Callable:
    """A backward pass that autocast does not change, even where it is called inside of it."""

    @functools.wraps(backward)
    def called(ctx, *gradients):
        given = [gradient for gradient in gradients if gradient is not None]
        if not given or not autocasts(given[0]):
            return backward(ctx, *gradients)
        with torch.autocast(given[0].device.type, enabled=False):
            return backward(ctx, *gradients)

    return called

"""A training that cannot learn stops with a hint on what to check."""

import logging
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import UserError

# Iterations between two checks of the losses: a check makes the host wait for the GPU.
INTERVAL = 20

_log = logging.getLogger(__name__)


class LossError(UserError):
    """The loss is not finite, or no weight learns: settings are wrong, not files or machines."""


class LossWatch:
    """The losses of one epoch.

    Args:
        describe: describes the state of the training; called with the failing iteration's number.
    """

    def __init__(self, describe: Callable[[int], str]):
        self.describe = describe
        self.values: list[float] = []
        self.unseen: list[tuple[np.ndarray, Tensor]] = []

    def add(self, ids: np.ndarray, loss: Tensor) -> None:
        """Record the loss of a batch, whose examples have these ids.

        Raises:
            LossError: it, or one of the last few losses, is not finite.
        """
        self.unseen.append((ids, loss.detach()))
        if len(self.unseen) == INTERVAL:
            self.look()

    def look(self) -> float:
        """Check the losses since the last check, and return the mean loss so far."""
        losses = torch.stack([loss for _, loss in self.unseen]).tolist() if self.unseen else []
        for (ids, _), value in zip(self.unseen, losses, strict=True):
            if not np.isfinite(value):
                raise LossError(
                    f"loss is {value} {self.describe(len(self.values))}; "
                    f"ids of the batch: {' '.join(map(str, ids))}"
                )
            self.values.append(value)
        self.unseen = []
        return float(np.mean(self.values)) if self.values else float("nan")

    @property
    def zeros(self) -> float:
        """The share of checked losses that are exactly 0; 0 if there are none."""
        return self.values.count(0.0) / max(len(self.values), 1)


def check_zero_losses(shares: Sequence[float], *, is_idle: bool, has_passed: bool) -> None:
    """Warn of the first epoch whose losses are all 0; stop if they will stay 0.

    A short epoch may just find no tuples. But after a whole pass over the examples that moved no
    weight, the next pass would be the same.

    Args:
        shares: share of losses that are 0, for each epoch so far.
        is_idle: whether no parameter has received a gradient so far.
        has_passed: whether as many batches were trained as a sampler's epoch has.

    Raises:
        LossError: all losses so far are 0, no parameter has received a gradient, and all examples
            have been used.
    """
    if shares[-1] < 1:
        return
    reason = (
        "either all tuples satisfy the loss (check its margin), or there are none (check the "
        "miner, and that the sampler puts several examples of a class into a batch)"
    )
    if min(shares) == 1 and is_idle and has_passed:
        raise LossError(
            f"loss is 0 in all iterations of the first {len(shares)} epoch(s) and no parameter has "
            f"a gradient: {reason}"
        )
    if list(shares).count(1) == 1:
        _log.warning("loss is 0 in all iterations of epoch %d: %s", len(shares), reason)


def check_gradients(losses: Sequence[float], *, is_idle: bool, has_passed: bool) -> None:
    """Stop a training whose loss does not depend on any weight.

    Args:
        losses: mean loss of each epoch so far.
        is_idle, has_passed: as for `check_zero_losses`.

    Raises:
        LossError: no parameter has received a gradient, and all examples have been used.
    """
    if is_idle and has_passed:
        raise LossError(
            f"loss is {losses[-1]:g} and no parameter has received a gradient in the first "
            f"{len(losses)} epoch(s): the loss does not depend on the embeddings "
            "(check its options)"
        )


def check_steps(optimizer: torch.optim.Optimizer) -> None:
    """Stop a training with weights that will never move again.

    An optimizer that divides by a running mean of squared gradients makes no step once a square
    exceeds float32.

    Raises:
        LossError: the optimizer's state has a value that is not finite.
    """
    finite = [
        value.isfinite().all()
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, Tensor)
    ]
    if finite and not torch.stack([value.cpu() for value in finite]).all():
        raise LossError(
            f"the state of {type(optimizer).__name__} is not finite, so some weights no longer "
            "move: gradients are too large (check the loss's scale, or set clip_value)"
        )

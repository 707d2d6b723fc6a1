"""A loss that is no number, or nothing but zero, stops the run and says what to look at."""

import logging
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import UserError

# Looking at a loss makes the host wait for the GPU; every so many iterations is often enough.
INTERVAL = 20


_log = logging.getLogger(__name__)


class LossError(UserError):
    """The loss is no finite number, or always 0: settings are wrong, not files or machines."""


NonFiniteLossError = LossError
"""Its name in `dmlbench.search`."""


class LossWatch:
    """The losses of one epoch.

    Args:
        describe: says where the training is; called with the failing iteration's number.
    """

    def __init__(self, describe: Callable[[int], str]):
        self.describe = describe
        self.values: list[float] = []
        self.unseen: list[tuple[np.ndarray, Tensor]] = []

    def add(self, ids: np.ndarray, loss: Tensor) -> None:
        """Note the loss of a batch, whose examples have these ids.

        Raises:
            LossError: it, or one of the last few, is no finite number.
        """
        self.unseen.append((ids, loss.detach()))
        if len(self.unseen) == INTERVAL:
            self.look()

    def look(self) -> float:
        """Check what has not been looked at, and return the mean loss so far."""
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
        """The share of losses, of those looked at, that are exactly 0; 0 if there are none."""
        return self.values.count(0.0) / max(len(self.values), 1)


def question_zeros(shares: Sequence[float], *, is_idle: bool, has_passed: bool) -> None:
    """Warn of the first epoch without any loss; stop where it is clear that none will come.

    A short epoch may just find no tuples. A whole pass over the examples that has moved no weight
    leaves the next one where this one began.

    Args:
        shares: of losses that are 0 in each epoch so far.
        is_idle: whether no parameter has received a gradient so far.
        has_passed: whether as many batches were trained as the sampler has in an epoch.

    Raises:
        LossError: all losses so far are 0, no parameter has received a gradient, and all examples
            had their turn.
    """
    if shares[-1] < 1:
        return
    reason = (
        "either all tuples satisfy the loss (look at its margin), or there are none (look at the "
        "sampler, which should put several examples of a class into a batch, and at the miner)"
    )
    if min(shares) == 1 and is_idle and has_passed:
        raise LossError(
            f"loss is 0 in all iterations of the first {len(shares)} epoch(s) and no parameter has "
            f"a gradient: {reason}"
        )
    if list(shares).count(1) == 1:
        _log.warning("loss is 0 in all iterations of epoch %d: %s", len(shares), reason)

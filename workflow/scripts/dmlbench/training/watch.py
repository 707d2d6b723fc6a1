"""A loss that stops being a number stops the run, with what one needs to find out why."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import UserError

# Looking at a loss makes the host wait for the GPU; every so many iterations is often enough.
INTERVAL = 20


class NonFiniteLossError(UserError):
    """The loss is no finite number: settings, and not files or machines, are what is wrong."""


class LossWatch:
    """The losses of one epoch.

    Args:
        describe: says where the training is; called with the failing iteration's number.
    """

    def __init__(self, describe: Callable[[int], str]):
        self.describe = describe
        self.values: list[float] = []
        self.unseen: list[tuple[np.ndarray, Tensor]] = []

    def add(self, image_ids: np.ndarray, loss: Tensor) -> None:
        """Note the loss of a batch.

        Raises:
            NonFiniteLossError: it, or one of the last few.
        """
        self.unseen.append((image_ids, loss.detach()))
        if len(self.unseen) == INTERVAL:
            self.look()

    def look(self) -> float:
        """Check what has not been looked at, and return the mean loss so far."""
        losses = torch.stack([loss for _, loss in self.unseen]).tolist() if self.unseen else []
        for (image_ids, _), value in zip(self.unseen, losses, strict=True):
            if not np.isfinite(value):
                raise NonFiniteLossError(
                    f"loss is {value} {self.describe(len(self.values))}; "
                    f"image ids of the batch: {' '.join(map(str, image_ids))}"
                )
            self.values.append(value)
        self.unseen = []
        return float(np.mean(self.values)) if self.values else float("nan")

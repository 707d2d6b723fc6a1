"""A toy training that gets a signal after a number of iterations: a process of its own."""

import contextlib
import json
import os
import sys
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.training import checkpoint, loop
from toy_data import ToyData
from toy_training import train


def train_until(folder: Path, data: ToyData, stop: list[int] | None, interval: float) -> None:
    """Train to the end, or until `stop`: (iteration, signal).

    Args:
        interval: seconds between checkpoints.
    """
    checkpoint.INTERVAL = interval
    step, done = loop.Trainer._step, iter(range(1, 1000))

    def signaled(self, *batch):
        loss = step(self, *batch)
        if stop and next(done) == stop[0]:
            os.kill(os.getpid(), stop[1])
        return loss

    loop.Trainer._step = signaled
    # A training that was asked to stop ends with an error that says so.
    with contextlib.suppress(*[UserError] * bool(stop)):
        train(folder, data, {"iterations_per_epoch": 4})


if __name__ == "__main__":
    folder, data, stop, interval = json.loads(sys.argv[1])
    train_until(Path(folder), ToyData(*map(Path, data)), stop, interval)

"""A training in processes whose first one gets a signal in the middle of a step."""

import os
import signal

from dmlbench.distributed import rank
from dmlbench.training import loop
from dmlbench.training.processes import in_processes


@in_processes
def train(values, *, stop_after, **arguments):
    """Train until the first process has done so many steps."""
    step, done = loop.Trainer._step, iter(range(1, 1000))

    def signalling(self, *batch):
        loss = step(self, *batch)
        if next(done) == stop_after and rank() == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
        return loss

    loop.Trainer._step = signalling
    loop.train(values, **arguments)

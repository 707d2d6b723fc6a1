"""An epoch in progress: what a checkpoint in the middle of it keeps next to the weights."""

import torch

from dmlbench.training.seeds import (
    derived_seed,
    random_state,
    seed_everything,
    set_random_state,
)
from dmlbench.training.watch import LossWatch


class Epoch:
    """The state of an epoch whose batches are being trained.

    Args:
        seed: the spec's.
        number: of the epoch, from 1.
        rate: the optimizer's learning rate in it.

    Attributes:
        iteration: how many iterations are done.
        losses: their losses.
        generator: what the transforms draw from.
    """

    def __init__(self, seed: int, number: int, rate: float):
        # Seeding every epoch makes one that follows a restart equal to one that follows the last.
        seed_everything(seed, "epoch", number)
        self.number, self.rate = number, rate
        self.iteration = 0
        self.losses = LossWatch(
            lambda iteration: f"in epoch {number}, iteration {iteration}, at learning rate {rate:g}"
        )
        self.generator = torch.Generator().manual_seed(derived_seed(seed, "transforms", number))

    def row(self) -> dict:
        """What the history says of it before any score: number, rate, mean loss, share of zeros."""
        loss = self.losses.look()
        return {
            "epoch": self.number,
            "learning_rate": self.rate,
            "loss": loss,
            "zero_losses": self.losses.zeros,
        }

    def state_dict(self) -> dict:
        """What a checkpoint keeps of it."""
        self.losses.look()
        return {
            "iteration": self.iteration,
            "losses": self.losses.values,
            "transforms": self.generator.get_state(),
            "random": random_state(),
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint; everything drawn from now on is what came then."""
        self.iteration, self.losses.values = state["iteration"], state["losses"]
        self.generator.set_state(state["transforms"])
        set_random_state(state["random"])

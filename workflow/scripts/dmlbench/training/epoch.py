"""An epoch in progress: what a checkpoint in mid-epoch stores in addition to the weights."""

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
        generator: of the transforms.
    """

    def __init__(self, seed: int, number: int, rate: float):
        # Seeding every epoch makes an epoch after a restart equal to one without a restart.
        seed_everything(seed, "epoch", number)
        self.number, self.rate = number, rate
        self.iteration = 0
        self.losses = LossWatch(
            lambda iteration: f"in epoch {number}, iteration {iteration}, at learning rate {rate:g}"
        )
        self.generator = torch.Generator().manual_seed(derived_seed(seed, "transforms", number))

    def row(self) -> dict:
        """Its row of the history without scores: number, rate, mean loss, share of zeros."""
        loss = self.losses.look()
        return {
            "epoch": self.number,
            "learning_rate": self.rate,
            "loss": loss,
            "zero_losses": self.losses.zeros,
        }

    def state_dict(self) -> dict:
        """Its state for a checkpoint."""
        self.losses.look()
        return {
            "iteration": self.iteration,
            "losses": self.losses.values,
            "transforms": self.generator.get_state(),
            "random": random_state(),
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint, with the same random numbers as without an interruption."""
        self.iteration, self.losses.values = state["iteration"], state["losses"]
        self.generator.set_state(state["transforms"])
        set_random_state(state["random"])

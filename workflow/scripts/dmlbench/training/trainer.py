"""A training in progress: batches, gradients, steps, and its state for checkpoints."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dmlbench.distributed import average_gradients, from_first, rank
from dmlbench.plan.catalogs.recipes import StepSchedule
from dmlbench.samplers import Batch
from dmlbench.training.batches import Batches
from dmlbench.training.epoch import Epoch
from dmlbench.training.objective import Objective
from dmlbench.training.optimization import set_learning_rates
from dmlbench.training.selection import Selection
from dmlbench.training.watch import check_gradients, check_steps, check_zero_losses


@dataclass(frozen=True)
class Settings:
    """The length of a training, and how it steps.

    Attributes:
        epochs: number of epochs.
        seed: seeds every random draw.
        schedule: of the learning rates; None for constant rates.
        warmup: parameters that do not learn in the first epochs; None for none.
        warmup_epochs: number of these first epochs.
        clip_value: largest absolute gradient; None for no clipping.
        evaluate_every: epochs between evaluations; the last epoch is always evaluated.
    """

    epochs: int
    seed: int
    schedule: StepSchedule | None = None
    warmup: nn.Module | None = None
    warmup_epochs: int = 0
    clip_value: float | None = None
    evaluate_every: int = 1


class Trainer:
    """Trains a network, one iteration at a time; `dmlbench.training.loop.run` runs it to the end.

    It is independent of the origin of its parts: a small network on points trains like a large one
    on images.

    Args:
        network: gives embeddings [B, D]; on its device.
        objective: the loss of a batch.
        batches: what is trained on.
        optimizer: its groups hold `first_rate`, as those of `build_optimizer` do.
        settings: for how long, and how.
        watch: scores the current network after an epoch, returning metrics' names and values, the
            one that selects first; None to watch nothing.
        selection: selects the scored epoch whose weights are kept.

    Attributes:
        epoch: the current epoch, or the last one; 0 before the first.
        history: a row for each finished epoch.
        is_idle: whether no parameter has received a gradient so far.
    """

    def __init__(
        self,
        network: nn.Module,
        objective: Objective,
        batches: Batches,
        optimizer: torch.optim.Optimizer,
        settings: Settings,
        watch: Callable[[int], dict[str, float]] | None = None,
        selection: Selection | None = None,
    ):
        self.network, self.objective, self.batches = network, objective, batches
        self.optimizer, self.settings, self.watch = optimizer, settings, watch
        self.selection = selection or Selection("last_epoch", None)
        self.history: list[dict] = []
        self.epoch = 0
        self.running: Epoch | None = None
        self.is_idle = True

    def train_epoch(self) -> Iterator[None]:
        """Train an epoch, or the rest of one after a checkpoint; yields after every iteration.

        Raises:
            LossError: the loss is not finite, or no weight learns.
        """
        if self.running is None:
            self._enter(self.epoch + 1)
        running = self.running
        for batch, inputs, labels in self.batches.epoch(
            self.epoch, running.generator, done=running.iteration
        ):
            loss = self._step(batch, inputs, labels)
            running.losses.add(self.batches.ids(batch), loss)
            running.iteration += 1
            yield
        rows = [*self.history, running.row()]
        state = {
            "is_idle": self.is_idle,
            "has_passed": self.done >= len(self.batches.sampler),
        }
        check_zero_losses([row["zero_losses"] for row in rows], **state)
        check_gradients([row["loss"] for row in rows], **state)
        check_steps(self.optimizer)

    def _step(self, batch: Batch, inputs: Tensor, labels: Tensor) -> Tensor:
        self.objective.begin(self.epoch if batch.projection is None else batch.projection)
        loss, embeddings = self.objective(batch, inputs, labels)
        self.batches.learn(batch, embeddings)
        parameters = self.parameters
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        average_gradients(parameters)
        if self.settings.clip_value is not None:
            nn.utils.clip_grad_value_(parameters, self.settings.clip_value)
        self.is_idle = self.is_idle and not any(map(_has_gradient, parameters))
        self.optimizer.step()
        return loss

    def evaluate(self) -> dict[str, float]:
        """Score the watched examples if due; has no side effects on training."""
        is_due = self.epoch % self.settings.evaluate_every == 0
        if self.watch is None or not (is_due or self.epoch == self.settings.epochs):
            return {}
        return from_first(self.watch(self.epoch) if rank() == 0 else {})

    def end_epoch(self, scores: dict[str, float]) -> None:
        """Add the epoch to the history, and offer its weights for selection if it was scored."""
        row = {"epoch": 0} if self.running is None else self.running.row()
        if scores:
            selecting = next(iter(scores.values()))
            self.selection.offer(self.epoch, selecting, self.network.state_dict())
        self.history.append(row | scores)
        self.running = None

    @property
    def is_over(self) -> bool:
        """Whether the last epoch is done, or patience has run out."""
        over = self.epoch >= self.settings.epochs or self.selection.is_over
        return over and self.running is None

    @property
    def done(self) -> int:
        """Number of finished iterations, over all epochs."""
        left = self.batches.per_epoch - self.running.iteration if self.running else 0
        return self.epoch * self.batches.per_epoch - left

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The optimizer's parameters: the network's and the loss's own."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def state_dict(self) -> dict:
        """Its state for a checkpoint: enough to end with the same weights, bit for bit."""
        return {
            "epoch": self.epoch,
            "network": self.network.state_dict(),
            "objective": self.objective.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "selection": self.selection.state_dict(),
            "batches": self.batches.state_dict(),
            "history": self.history,
            "running": self.running and self.running.state_dict(),
            "is_idle": self.is_idle,
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint."""
        if state["running"] is not None:
            self._enter(state["epoch"])
            self.running.load_state_dict(state["running"])
        for part in ("network", "objective", "optimizer", "selection", "batches"):
            getattr(self, part).load_state_dict(state[part])
        for value in ("epoch", "history", "is_idle"):
            setattr(self, value, state[value])

    def _enter(self, epoch: int) -> None:
        settings = self.settings
        set_learning_rates(settings.schedule, self.optimizer, epoch)
        if settings.warmup is not None:
            settings.warmup.requires_grad_(epoch > settings.warmup_epochs)
        self.network.train()
        rate = self.optimizer.param_groups[0]["lr"]
        self.epoch, self.running = epoch, Epoch(settings.seed, epoch, rate)


def _has_gradient(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None and bool(parameter.grad.any())

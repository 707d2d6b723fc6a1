"""The training loop: one spec in, weights and a history out."""

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm

from dmlbench.data.embeddings import Embedded
from dmlbench.data.feed import AHEAD, Feed
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from dmlbench.errors import UserError
from dmlbench.evaluation import score
from dmlbench.evaluation.roles import spaces
from dmlbench.networks.embedder import Embedder
from dmlbench.networks.weights import load_weights
from dmlbench.plan.spec import Spec
from dmlbench.samplers import build_sampler
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.cpu import use_cpu
from dmlbench.training.data import Images, batches, iterations, read_roles
from dmlbench.training.device import pick_device
from dmlbench.training.embedding import embed_images, steps
from dmlbench.training.epoch import Epoch
from dmlbench.training.interruption import Interrupted, Interruption
from dmlbench.training.objective import Objective
from dmlbench.training.optimization import build_optimizer, set_learning_rates
from dmlbench.training.results import write_history, write_spec, write_weights
from dmlbench.training.seeds import derived_seed, make_deterministic, seed_everything
from dmlbench.training.selection import Selection, watched_roles


class Trainer:
    """A training in progress: everything that a checkpoint keeps, and one iteration at a time.

    Args:
        spec: what is trained, and how.
        pixels: the packed images.
        roles: the split's images by role.
        device: where the network runs.
        weights: the file of weights that the spec's network names.
    """

    def __init__(
        self,
        spec: Spec,
        pixels: Pixels,
        roles: dict[str, Images],
        device: torch.device,
        weights: Path | None = None,
    ):
        self.spec, self.feed, self.device = spec, Feed(pixels, device), device
        self.images, self.classes = roles["train"], roles["train"].classes
        self.watched = {role: roles[role] for role in watched_roles(spec.selection, roles)}
        seed_everything(spec.seed, "initial weights")
        self.network = Embedder(spec).to(device)
        load_weights(self.network.backbone, spec.network.weights, weights)
        self.embed = torch.compile(self.network) if spec.compile else self.network
        self.objective = Objective(spec, self.network, int(self.classes.max()) + 1)
        self.objective.loss.to(device)
        self.transform = build_transforms(steps(spec.transforms.train))
        self.optimizer = build_optimizer(spec, self.network, self.objective.loss)
        self.sampler = build_sampler(
            spec.sampler.name,
            self.classes,
            batch_size=spec.batch_size,
            seed=derived_seed(spec.seed, "batches"),
            **spec.sampler.hyperparameters,
        )
        if hasattr(self.sampler, "representative_positions"):
            raise UserError(
                f"sampler {spec.sampler.name}: training does not pair representatives with the "
                "other images yet; any sampler but profs and profs_hncm is allowed"
            )
        self.labels = torch.from_numpy(self.classes).to(device)
        self.selection = Selection(spec.selection, spec.patience)
        self.history: list[dict] = []
        self.per_epoch = iterations(self.sampler, spec.iterations_per_epoch)
        self.epoch = 0
        self.running: Epoch | None = None

    @property
    def is_over(self) -> bool:
        """Whether the last epoch is done, or patience has run out."""
        over = self.epoch >= self.spec.epochs or self.selection.is_over
        return over and self.running is None

    @property
    def done(self) -> int:
        """How many iterations are done, in all epochs."""
        left = self.per_epoch - self.running.iteration if self.running else 0
        return self.epoch * self.per_epoch - left

    def train_epoch(self) -> Iterator[None]:
        """Train an epoch, or what a checkpoint left of one; pauses after every iteration."""
        if self.running is None:
            self._enter(self.epoch + 1)
        for rows, images in self._batches():
            self.running.losses.add(self.images.ids[rows], self._step(rows, images))
            self.running.iteration += 1
            yield
        self.running.losses.look()

    def evaluate(self) -> dict[str, float]:
        """Score the watched images, if it is time to; changes nothing."""
        if self.epoch % self.spec.evaluate_every and self.epoch != self.spec.epochs:
            return {}
        embedded = {role: self._embedded(images) for role, images in self.watched.items()}
        (space,) = spaces(embedded).values()
        return score(**space, metrics=[self.spec.selection_metric])

    def end_epoch(self, scores: dict[str, float]) -> None:
        """Note the epoch in the history, and offer its weights if it was scored."""
        row = {"epoch": 0} if self.running is None else self.running.row()
        if scores:
            (value,) = scores.values()
            self.selection.offer(self.epoch, value, self.network.state_dict())
        self.history.append(row | scores)
        self.running = None

    def state_dict(self) -> dict:
        """What a checkpoint keeps: enough to end with the same weights, bit for bit."""
        return {
            "epoch": self.epoch,
            "network": self.network.state_dict(),
            "objective": self.objective.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "selection": self.selection.state_dict(),
            "sampler": self._sampler_state(),
            "history": self.history,
            "running": self.running and self.running.state_dict(),
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue where a checkpoint was written."""
        if state["running"] is not None:
            self._enter(state["epoch"])
            self.running.load_state_dict(state["running"])
        for part in ("network", "objective", "optimizer", "selection"):
            getattr(self, part).load_state_dict(state[part])
        if state["sampler"] is not None:
            self.sampler.load_state_dict(state["sampler"])
        self.epoch, self.history = state["epoch"], state["history"]

    def _enter(self, epoch: int) -> None:
        set_learning_rates(self.spec, self.optimizer, epoch)
        self.network.backbone.requires_grad_(epoch > self.spec.warmup_epochs)
        self.network.train()
        self.objective.start_epoch()
        rate = self.optimizer.param_groups[0]["lr"]
        self.epoch, self.running = epoch, Epoch(self.spec.seed, epoch, rate)

    def _embedded(self, images: Images) -> Embedded:
        vectors = embed_images(self.spec, self.network, self.feed, images.ids)
        return Embedded(images.ids, images.labels, vectors)

    def _batches(self) -> Iterator[tuple]:
        """The rows and the images of the running epoch's batches, but for those that are done."""
        left = batches(self.sampler, self.epoch, self.per_epoch, self.running.iteration)
        drawn, wanted = itertools.tee(left)
        # A sampler that learns from a batch cannot draw the next one before.
        ahead = 0 if hasattr(self.sampler, "update") else AHEAD
        ids = (self.images.ids[rows] for rows in wanted)
        return zip(drawn, self.feed.batches(ids, ahead), strict=True)

    def _step(self, rows, images) -> torch.Tensor:
        labels = self.labels[torch.from_numpy(rows).to(self.device)]
        images = self.transform(images, self.running.generator)
        loss, embeddings = self.objective(self.embed, images, labels)
        if hasattr(self.sampler, "update"):
            self.sampler.update(rows, embeddings.detach())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.spec.clip_value is not None:
            nn.utils.clip_grad_value_(self._parameters(), self.spec.clip_value)
        self.optimizer.step()
        return loss

    def _sampler_state(self) -> dict | None:
        """The embeddings that a sampler draws from; none for one that looks at labels alone."""
        return self.sampler.state_dict() if hasattr(self.sampler, "state_dict") else None

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]


def train(
    values: dict,
    *,
    index: Path,
    split: Path,
    pixels: Path,
    pixel_table: Path,
    device: str,
    threads: int,
    spec_file: Path,
    model: Path,
    last: Path,
    history: Path,
    weights: Path | None = None,
    after_epoch: Callable[[Trainer], None] = lambda trainer: None,
) -> None:
    """Train a run, or continue it from its checkpoint.

    Args:
        values: the run's spec, as plain values.
        index, split: Parquet files of the data set's images and of their roles.
        pixels, pixel_table: the packed images.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads of torch.
        spec_file: written: the spec in full, as YAML.
        model: written: the selected epoch's weights, as safetensors.
        last: written: the last epoch's weights.
        history: written: a row an epoch, as Parquet.
        weights: the file of weights that the spec's network names; none where it names none.
        after_epoch: called once an epoch is in the checkpoint.

    Raises:
        UserError: the loss is not finite; the split lacks what the selection needs; weights that
            are missing or do not fit; a signal to stop, after which the next call continues.
    """
    spec = Spec.model_validate(values)
    make_deterministic()
    use_cpu(threads)
    checkpoint = Checkpoint(Path(model).parent, spec)
    roles = read_roles(index, split, spec.fold)
    trainer = Trainer(spec, Pixels(pixels, pixel_table), roles, pick_device(device), weights)
    state = checkpoint.load()
    if state is not None:
        trainer.load_state_dict(state)
    elif spec.epochs == 0:
        trainer.end_epoch(trainer.evaluate())
    with Interruption() as interruption:
        try:
            _train_epochs(trainer, checkpoint, interruption, after_epoch)
        except Interrupted:
            checkpoint.save(**trainer.state_dict())
            raise UserError(
                f"interrupted at epoch {trainer.epoch}, iteration {trainer.running.iteration}; "
                "the next call continues there"
            ) from None
        write_spec(spec_file, spec)
        write_history(history, trainer.history)
        write_weights(model, trainer.selection.weights, spec, trainer.selection.epoch)
        write_weights(last, trainer.network.state_dict(), spec, trainer.epoch)


def _train_epochs(
    trainer: Trainer,
    checkpoint: Checkpoint,
    interruption: Interruption,
    after_epoch: Callable[[Trainer], None],
) -> None:
    with tqdm(
        total=trainer.spec.epochs * trainer.per_epoch,
        initial=trainer.done,
        desc="training",
        mininterval=0.1 if sys.stderr.isatty() else 10,
    ) as progress:
        while not trainer.is_over:
            for _ in trainer.train_epoch():
                progress.update()
                interruption.check()
                if checkpoint.is_due:
                    checkpoint.save(**trainer.state_dict())
            with interruption.at_once():
                scores = trainer.evaluate()
            trainer.end_epoch(scores)
            checkpoint.save(**trainer.state_dict())
            progress.set_postfix({key: f"{value:.3g}" for key, value in scores.items()})
            after_epoch(trainer)

"""The training loop: one spec in, weights and a history out."""

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml
from safetensors.torch import save
from torch import nn
from tqdm import tqdm

from dmlbench.data.embeddings import Embedded
from dmlbench.data.feed import AHEAD, Feed
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from dmlbench.errors import UserError
from dmlbench.evaluation import score
from dmlbench.evaluation.roles import spaces
from dmlbench.files import whole
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.networks.embedder import Embedder
from dmlbench.networks.weights import load_weights
from dmlbench.plan.spec import Spec
from dmlbench.samplers import build_sampler
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.data import Images, batches, iterations, read_roles
from dmlbench.training.device import pick_device
from dmlbench.training.embedding import embed_images, steps
from dmlbench.training.optimization import build_optimizer, set_learning_rates
from dmlbench.training.seeds import derived_seed, make_deterministic, seed_everything
from dmlbench.training.selection import Selection, watched_roles
from dmlbench.training.watch import LossWatch


class Trainer:
    """A training in progress: everything that a checkpoint keeps, and one epoch at a time.

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
        self.loss = self._build_loss().to(device)
        self.miner = spec.miner and build_miner(spec.miner.name, **spec.miner.hyperparameters)
        self.transform = build_transforms(steps(spec.transforms.train))
        self.optimizer = build_optimizer(spec, self.network, self.loss)
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
        self.epoch = 0

    @property
    def is_over(self) -> bool:
        """Whether the last epoch is done, or patience has run out."""
        return self.epoch >= self.spec.epochs or self.selection.is_over

    def run_epoch(self, progress: tqdm) -> None:
        """Train one epoch, evaluate if it is due, and offer the weights to the selection."""
        self.epoch += 1
        # Seeding every epoch makes one that follows a restart equal to one that follows the last.
        seed_everything(self.spec.seed, "epoch", self.epoch)
        set_learning_rates(self.spec, self.optimizer, self.epoch)
        rate = self.optimizer.param_groups[0]["lr"]
        self.network.backbone.requires_grad_(self.epoch > self.spec.warmup_epochs)
        self.network.train()
        watch = LossWatch(
            lambda iteration: (
                f"in epoch {self.epoch}, iteration {iteration}, at learning rate {rate:g}"
            )
        )
        count = iterations(self.sampler, self.spec.iterations_per_epoch)
        generator = torch.Generator().manual_seed(
            derived_seed(self.spec.seed, "transforms", self.epoch)
        )
        for rows, images in self._batches(count):
            watch.add(self.images.ids[rows], self._step(rows, images, generator))
            progress.update()
        row = {"epoch": self.epoch, "learning_rate": rate, "loss": watch.look()}
        if self.epoch % self.spec.evaluate_every == 0 or self.epoch == self.spec.epochs:
            row |= self.evaluate()
        self.history.append(row)
        progress.set_postfix({key: f"{value:.3g}" for key, value in row.items() if key != "epoch"})

    def evaluate(self) -> dict[str, float]:
        """Score the watched images and offer the weights; returns the scores by name."""
        metric = self.spec.selection_metric
        embedded = {role: self._embedded(images) for role, images in self.watched.items()}
        (space,) = spaces(embedded).values()
        value = score(**space, metrics=[metric])[metric]
        self.selection.offer(self.epoch, value, self.network.state_dict())
        return {metric: value}

    def state_dict(self) -> dict:
        """What a checkpoint keeps: enough to end with the same weights, bit for bit."""
        return {
            "epoch": self.epoch,
            "network": self.network.state_dict(),
            "loss": self.loss.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "selection": self.selection.state_dict(),
            "sampler": self._sampler_state(),
            "history": self.history,
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue where a checkpoint was written."""
        for part in ("network", "loss", "optimizer", "selection"):
            getattr(self, part).load_state_dict(state[part])
        if state["sampler"] is not None:
            self.sampler.load_state_dict(state["sampler"])
        self.epoch, self.history = state["epoch"], state["history"]

    def _embedded(self, images: Images) -> Embedded:
        vectors = embed_images(self.spec, self.network, self.feed, images.ids)
        return Embedded(images.ids, images.labels, vectors)

    def _build_loss(self) -> nn.Module:
        if self.spec.loss is None:
            return nn.Module()
        return build_loss(
            self.spec.loss.name,
            num_classes=int(self.classes.max()) + 1,
            embedding_dim=self.spec.embedding_dim,
            **self.spec.loss.hyperparameters,
        )

    def _batches(self, count: int) -> Iterator[tuple]:
        """The rows and the images of an epoch's batches."""
        drawn, wanted = itertools.tee(batches(self.sampler, self.epoch, count))
        # A sampler that learns from a batch cannot draw the next one before.
        ahead = 0 if hasattr(self.sampler, "update") else AHEAD
        ids = (self.images.ids[rows] for rows in wanted)
        return zip(drawn, self.feed.batches(ids, ahead), strict=True)

    def _step(self, rows, images, generator: torch.Generator) -> torch.Tensor:
        labels = self.labels[torch.from_numpy(rows).to(self.device)]
        embeddings = self.network(self.transform(images, generator))
        if self.miner is None:
            loss = self.loss(embeddings, labels)
        else:
            loss = self.loss(embeddings, labels, self.miner(embeddings.detach(), labels))
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


def history_table(rows: list[dict]) -> pa.Table:
    """A row an epoch; what an epoch was not evaluated for is missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


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
        UserError: the loss is not finite; the split lacks what the selection needs; a damaged
            checkpoint; weights that are missing or do not fit.
    """
    spec = Spec.model_validate(values)
    make_deterministic()
    torch.set_num_threads(threads)
    checkpoint = Checkpoint(Path(model).parent, spec)
    roles = read_roles(index, split, spec.fold)
    trainer = Trainer(spec, Pixels(pixels, pixel_table), roles, pick_device(device), weights)
    state = checkpoint.load()
    if state is not None:
        trainer.load_state_dict(state)
    elif spec.epochs == 0:
        trainer.history.append({"epoch": 0, **trainer.evaluate()})
    count = iterations(trainer.sampler, spec.iterations_per_epoch)
    with tqdm(
        total=spec.epochs * count,
        initial=trainer.epoch * count,
        desc="training",
        mininterval=0.1 if sys.stderr.isatty() else 10,
    ) as progress:
        while not trainer.is_over:
            trainer.run_epoch(progress)
            checkpoint.save(**trainer.state_dict())
            after_epoch(trainer)
    with whole(spec_file) as unfinished:
        unfinished.write_text(yaml.safe_dump(spec.as_dict(), sort_keys=False))
    with whole(history) as unfinished:
        pq.write_table(history_table(trainer.history), unfinished)
    for path, weights, epoch in (
        (model, trainer.selection.weights, trainer.selection.epoch),
        (last, trainer.network.state_dict(), trainer.epoch),
    ):
        # One key: safetensors writes several in no fixed order.
        metadata = {"dmlbench": json.dumps({"spec": spec.digest, "epoch": epoch})}
        with whole(path) as unfinished:
            weights = {name: tensor.cpu().contiguous() for name, tensor in weights.items()}
            unfinished.write_bytes(save(weights, metadata))
    checkpoint.remove_all()

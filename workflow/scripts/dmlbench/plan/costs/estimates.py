"""The seconds of trainings, searches and other jobs: as here, else by config/costs.yaml."""

import contextlib
import csv
import statistics
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import PositiveFloat, PositiveInt

from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.machine import usable_cores
from dmlbench.plan import paths
from dmlbench.plan.catalogs.choices import Identifier, Loss, Model
from dmlbench.plan.catalogs.naming import complete
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.costs.devices import Device, StepTime
from dmlbench.plan.costs.timed_gpu import timed_gpu
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import ANY_FOLDER
from dmlbench.plan.specs.spec import Spec
from dmlbench.shared_files import read_plain, regular_status

_FORWARD = 1 / 3
"""Cost of an image that is only embedded, as a share of one that is trained on."""

_MOST = 500
"""Benchmark files of a rule that are read; each costs milliseconds of planning."""


class Work(Model):
    """Billions of multiply-adds for one image with sides of `pixels`."""

    pixels: PositiveInt
    multiply_adds: PositiveFloat


class Prior(Model):
    """The whole of config/costs.yaml."""

    gpu: Device
    networks: dict[Identifier, Work]
    cpu: Device


class Estimate(NamedTuple):
    """The time of a training.

    Attributes:
        seconds: on one device; None if unknown.
        source: where the number comes from, or why it is missing.
        start: the seconds before its first step.
    """

    seconds: float | None
    source: str
    start: float = 0.0


class Estimator:
    """The time of a plan's jobs on one device.

    Args:
        results: the folder of results, with Snakemake's benchmark files. Snakemake does not record
            the device: all are assumed to be of one kind.
        gpu: whether trainings will run on a GPU.
    """

    def __init__(self, plan: Plan, results: Path, *, gpu: bool):
        self.plan, self.results, self.gpu = plan, results, gpu
        self.prior = read_yaml(plan.folder / "costs.yaml", Prior)
        if file := plan.configuration.gpu_check:
            here = timed_gpu(Path(file), self.prior.gpu)
            self.prior = self.prior.model_copy(update={"gpu": here})
        for file in (own / "costs.yaml" for own in plan.own):
            if file.exists():
                counted = read_yaml(file, dict[Literal["networks"], dict[Identifier, Work]])
                self.prior.networks.update(counted["networks"])
        self._counted: dict[str, int] = {}
        self._of_rules: dict[str, float | None] = {}
        self._ran: dict[tuple, list[tuple[float, float]]] = {}
        for spec, seconds in _measured(results):
            images = self._images(spec)
            # A network that stays untrained says nothing about the time of a training.
            if images is not None and spec.epochs:
                work = images * self._weight(spec)
                self._ran.setdefault(_kind(spec), []).append((work, seconds))

    def training(self, network: str, spec: Spec) -> Estimate:
        """Estimate one training.

        Args:
            network: id of the spec's network.
        """
        images = self._images(spec)
        if images is None:
            return Estimate(None, "the number of images is known once they are indexed")
        if _kind(spec) not in self._ran:
            return self._before_any_has_run(network, spec, images, gpu=self.gpu)
        ran = self._ran[_kind(spec)]
        start, an_image = fit(ran, self._device.start)
        an_image *= self._weight(spec)
        source = f"fitted on {len(ran)} trainings here: {start:.0f} s + "
        source += f"{1000 * an_image:.3g} ms per image"
        return Estimate(start + an_image * images, source, start)

    def on_the_gpu(self, network: str, spec: Spec) -> float | None:
        """Seconds of a training on the prior's GPU; None if unknown."""
        images = self._images(spec)
        return images and self._before_any_has_run(network, spec, images, gpu=True).seconds

    def search(self, name: str) -> Estimate:
        """All trials of a search, one after the other, as if none ended early."""
        search = self.plan.searches[name]
        specs = searches.trial_specs(self.plan, name)
        trial = [self.training(search.run.network, spec) for spec in specs]
        if any(each.seconds is None for each in trial):
            return next(each for each in trial if each.seconds is None)
        # A worker starts once.
        starts = trial[0].start * max(0, search.budget * len(trial) - search.workers)
        seconds = search.budget * sum(each.seconds for each in trial) - starts
        return trial[0]._replace(seconds=seconds)

    def job(self, rule: str) -> float | None:
        """Mean seconds of a rule's jobs here; None if none has run."""
        if rule not in self._of_rules:
            folder = self.results / paths.COSTS / rule
            single = [file for file in [folder.with_suffix(".tsv")] if file.exists()]
            files = [*single, *islice(folder.rglob("*.tsv"), _MOST // 10)]
            seconds = [each for file in files for each in _seconds(file)]
            self._of_rules[rule] = statistics.fmean(seconds) if seconds else None
        return self._of_rules[rule]

    @property
    def _device(self) -> Device:
        return self.prior.gpu if self.gpu else self.prior.cpu

    def _before_any_has_run(
        self, network: str, spec: Spec, images: float, *, gpu: bool
    ) -> Estimate:
        """An estimate by what was timed elsewhere, or by the network's operations."""
        device = self.prior.gpu if gpu else self.prior.cpu
        busy = "" if gpu else ", if nothing else is running"
        if self.plan.configuration.rehearsal:
            return Estimate(None, "nothing like it has run here")
        if time := device.timed(network, spec, self._centers(spec)):
            source = f"as timed on {device.title}{busy}"
        elif operations := self._operations(network, spec):
            cores = 1 if gpu else min(self.plan.threads(spec), usable_cores())
            flops = device.flops * device.faster.get(spec.precision, 1) * cores
            time = StepTime(step=device.step, image=1000 * operations / flops)
            source = f"assumed: {flops / 1e9:,.0f} billion operations per second{busy}"
        else:
            return Estimate(None, "nothing like it has run here")
        seconds = images * (time.step / spec.batch_size + time.image) / 1000
        return Estimate(device.start + seconds, source, device.start)

    def _operations(self, network: str, spec: Spec) -> float | None:
        """Operations for an image: forward and backward, which is three times forward."""
        if spec.network.frozen is not None:
            # A head, on as many features as its embedding has dimensions, and its loss's centers.
            return 3 * 2 * spec.embedding_dim * (spec.embedding_dim + self._centers(spec))
        work = self.prior.networks.get(network)
        return work and 3 * 2e9 * work.multiply_adds * (spec.pixels / work.pixels) ** 2

    def _weight(self, spec: Spec) -> float:
        """An image's cost as a multiple of that with a loss without centers, by the prior.

        So trainings with any loss tell what those with another one take.
        """
        head = self._device.head
        # Without a timed head, what a step takes at least outweighs the operations of centers.
        if spec.network.frozen is None or head is None:
            return 1
        return head.of(spec.embedding_dim, self._centers(spec)) / head.of(spec.embedding_dim, 0)

    def _centers(self, spec: Spec) -> float:
        """Centers or proxies of a spec's loss for the training classes; half of all classes test.

        0 if the catalogue does not have the number of classes.
        """
        dataset = self.plan.datasets.get(self._dataset(spec))
        if spec.loss is None or dataset is None:
            return 0
        folds = registry.constant("data/splits", spec.split.name, "FOLDS")
        validated = 1 / folds if folds and spec.fold is not None else 0
        return _centers_per_class(spec.loss) * (dataset.classes or 0) / 2 * (1 - validated)

    def _dataset(self, spec: Spec) -> str:
        """The data set that a training has: in a rehearsal always the same toy data set."""
        rehearsal = self.plan.configuration.rehearsal
        return next(iter(self.plan.datasets)) if rehearsal else spec.dataset

    def _images(self, spec: Spec) -> float | None:
        """Training images plus a third of the evaluated ones; half of a data set tests.

        None if neither the catalogue nor an index nor a user's folder has the number of images.
        """
        name = self._dataset(spec)
        if name not in self.plan.datasets:
            return None
        dataset = self.plan.datasets[name]
        drawn = dataset.generator.hyperparameters if dataset.generator else {}
        images = dataset.images or drawn.get("characters", 0) * drawn.get("images_per_character", 0)
        images = images or self._of_folder(name)
        if not images:
            return None
        epoch = (spec.iterations_per_epoch or 0) * spec.batch_size or images / 2
        evaluations = -(-spec.epochs // spec.evaluate_every)
        return spec.epochs * epoch + evaluations * images / 2 * _FORWARD

    def _of_folder(self, dataset: str) -> int:
        """Images of a user's data set: of its index, before of its folder; 0 if unknown."""
        if dataset not in self._counted:
            # Imported here, because other plans need no pyarrow.
            import pyarrow.parquet as pq

            self._counted[dataset] = 0
            # Not there yet, or damaged, which its reader reports; or the folder is unknown.
            with contextlib.suppress(OSError, ValueError):
                data = self.plan.data(dataset)
                self._counted[dataset] = data.images or 0
                index = self.results / paths.made("index", data=data.folder)
                regular_status(index)
                self._counted[dataset] = pq.read_metadata(index).num_rows
        return self._counted[dataset]


def fit(ran: Sequence[tuple[float, float]], start: float) -> tuple[float, float]:
    """Seconds before the first image, and of each image, that add up to what trainings took.

    Args:
        ran: (images, seconds) of at least one training.
        start: the expected seconds before the first image; none can have taken longer in all.
    """
    images, seconds = (sum(numbers) for numbers in zip(*ran, strict=True))
    start = min(start, *(took for _, took in ran)) if images else seconds / len(ran)
    return start, (seconds - start * len(ran)) / images if images else 0.0


def _measured(results: Path) -> Iterator[tuple[Spec, float]]:
    """Specs and the seconds of their trainings; the mean for repeated trainings."""
    for file in sorted(results.glob(paths.cost("train", run=ANY_FOLDER)))[:_MOST]:
        run = Path(*file.with_suffix("").parts[-ANY_FOLDER.count("*") :])
        # A spec of an older version says nothing about those of this version.
        with contextlib.suppress(UserError):
            if seconds := _seconds(file):
                spec = read_yaml(results / paths.made("train", "spec", run=run), Spec)
                yield spec, statistics.fmean(seconds)


def _seconds(file: Path) -> list[float]:
    """The seconds of a benchmark file; none if it cannot be read."""
    try:
        lines = read_plain(file).decode().splitlines()
        return [float(row["s"]) for row in csv.DictReader(lines, delimiter="\t")]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _centers_per_class(loss: Loss) -> int:
    """The learned vectors that a loss has for each class, and compares every image with."""
    own = complete(loss).get("centers_per_class")
    return own or int(registry.derives_from("losses", loss.name, "LossWithProxies"))


def _kind(spec: Spec) -> tuple:
    """What trainings must share to cost the same per image, but for centers of the loss."""
    backbone = spec.network.backbone.model_dump_json()
    # A head takes most of the time of a training on features.
    head = None if spec.network.frozen is None else (spec.embedding_dim, *spec.hidden_layers)
    return backbone, head, spec.pixels, spec.precision, spec.compile

"""The seconds that a training takes: fitted to trainings that have run, else assumed."""

import contextlib
import csv
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError
from dmlbench.machine import usable_cores
from dmlbench.plan import paths
from dmlbench.plan.plan import Plan
from dmlbench.plan.prior import Prior
from dmlbench.plan.read import read_yaml
from dmlbench.plan.run import ANY_FOLDER
from dmlbench.plan.spec import Spec

_FORWARD = 1 / 3
"""Cost of an image that is only embedded, as a share of one that is trained on."""

_MOST = 500
"""Trainings that a fit uses; each costs milliseconds of planning."""

_IDLE = "if nothing else is running"
"""What times assumed for a CPU rest on; those of trainings here include the load they had."""


class Fit(NamedTuple):
    """seconds = start + an_image * images, by least squares over `files` benchmark files."""

    start: float
    an_image: float
    files: int


class Estimate(NamedTuple):
    """The time of one training.

    Attributes:
        seconds: on one device; None if unknown.
        source: where the number comes from, or why it is missing.
        on_a_gpu: seconds on the prior's GPU, on a machine without one; None if unknown.
        start: the seconds before its first step.
    """

    seconds: float | None
    source: str
    on_a_gpu: float | None = None
    start: float = 0.0

    def in_a_started_process(self) -> "Estimate":
        """The same without the start."""
        seconds = None if self.seconds is None else self.seconds - self.start
        return self._replace(seconds=seconds, start=0.0)


class CostModel:
    """The time of a plan's trainings on one device.

    Args:
        results: the folder of results, with Snakemake's benchmark files of trainings. Snakemake
            does not record the device: all are assumed to be of one kind.
        gpu: whether trainings will run on a GPU.
    """

    def __init__(self, plan: Plan, results: Path, *, gpu: bool):
        self.plan, self.results = plan, results
        self.gpu = gpu
        self.prior = read_yaml(plan.folder / "costs.yaml", Prior)
        self._counted: dict[str, int] = {}
        self.fits = self._fits()

    def estimate(self, network: str, spec: Spec) -> Estimate:
        """Estimate one training.

        Args:
            network: id of the spec's network.
        """
        images, fit = self._images(spec), self.fits.get(_kind(spec))
        if images is None:
            return Estimate(None, "the number of images is known once they are indexed")
        if fit:
            source = (
                f"fitted on {fit.files} trainings here: {fit.start:.0f} s + "
                f"{1000 * fit.an_image:.3g} ms per image"
            )
            seconds = fit.start + fit.an_image * images
            on_a_gpu = self.prior.seconds_on_the_gpu(network, spec, images)
            return Estimate(seconds, source, on_a_gpu, fit.start)
        if self.plan.configuration.rehearsal:
            return Estimate(None, "nothing like it has run here")
        return self._before_any_has_run(network, spec, images)

    def is_fitted(self, spec: Spec) -> bool:
        """Whether similar trainings have run here."""
        return _kind(spec) in self.fits

    def _before_any_has_run(self, network: str, spec: Spec, images: float) -> Estimate:
        cpu = self.prior.cpu
        on_a_gpu = self.prior.seconds_on_the_gpu(network, spec, images)
        unknown = Estimate(None, "nothing like it has run here", on_a_gpu)
        if self.gpu:
            if on_a_gpu is None:
                return unknown
            source = self.prior.source_on_the_gpu(network, spec.precision)
            return Estimate(on_a_gpu, source, start=self.prior.gpu.start)
        on_a_core = self.prior.seconds_on_a_core(network, spec, images)
        if on_a_core is not None:
            return Estimate(on_a_core, f"as timed on {cpu.title}, {_IDLE}", on_a_gpu, cpu.start)
        cores = min(self.plan.threads(spec), usable_cores())
        on_cores = self.prior.seconds_on_cores(network, spec, images, cores)
        source = f"assumed before any has run: {cpu.flops / 1e9:.0f} billion operations per "
        source += f"second on each of {cores} {'core' if cores == 1 else 'cores'}, {_IDLE}"
        return unknown if on_cores is None else Estimate(on_cores, source, on_a_gpu, cpu.start)

    def _fits(self) -> dict[tuple, Fit]:
        points: dict[tuple, list[tuple[float, float]]] = {}
        for spec, seconds in _measured(self.results):
            images = self._images(spec)
            # A network that stays untrained says nothing about the time of a training.
            if images is not None and spec.epochs:
                points.setdefault(_kind(spec), []).append((images, seconds))
        return {kind: fit(of_kind) for kind, of_kind in points.items()}

    def _images(self, spec: Spec) -> float | None:
        """Training images plus a third of the evaluated ones; half of a data set tests.

        None if neither the catalogue nor an index nor a user's folder has the number of images.
        """
        # In a rehearsal every data set is the same toy data set.
        toy = next(iter(self.plan.datasets)) if self.plan.configuration.rehearsal else None
        name = toy or spec.dataset
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
                self._counted[dataset] = pq.read_metadata(index).num_rows
        return self._counted[dataset]


def fit(points: Sequence[tuple[float, float]]) -> Fit:
    """Least squares of seconds over images, with no negative coefficient.

    Args:
        points: (images, seconds) of at least one training.
    """
    images, seconds = zip(*points, strict=True)
    if len(set(images)) > 1:
        an_image, start = statistics.linear_regression(images, seconds)
        if an_image >= 0 and start >= 0:
            return Fit(start, an_image, len(points))
        if an_image < 0:
            return Fit(statistics.fmean(seconds), 0.0, len(points))
    square = sum(count * count for count in images)
    if square == 0:
        return Fit(statistics.fmean(seconds), 0.0, len(points))
    product = sum(count * spent for count, spent in points)
    return Fit(0.0, product / square, len(points))


def _measured(results: Path) -> Iterator[tuple[Spec, float]]:
    """Specs and the seconds of their trainings; the mean for repeated trainings."""
    for file in sorted(results.glob(paths.cost("train", run=ANY_FOLDER)))[:_MOST]:
        with open(file, newline="") as lines:
            seconds = [float(row["s"]) for row in csv.DictReader(lines, delimiter="\t")]
        run = Path(*file.with_suffix("").parts[-ANY_FOLDER.count("*") :])
        # A spec of an older version says nothing about those of this version.
        with contextlib.suppress(UserError):
            if seconds:
                spec = read_yaml(results / paths.made("train", "spec", run=run), Spec)
                yield spec, statistics.fmean(seconds)


def _kind(spec: Spec) -> tuple:
    """What trainings must share to cost the same per image."""
    backbone = spec.network.backbone.model_dump_json()
    # A head takes most of the time of a training on features.
    head = None if spec.network.frozen is None else (spec.embedding_dim, *spec.hidden_layers)
    return backbone, head, spec.pixels, spec.precision, spec.compile

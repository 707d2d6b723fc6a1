"""The seconds that a training takes: fitted on those that have run, or assumed before."""

import contextlib
import csv
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, PositiveFloat, PositiveInt

from dmlbench.errors import UserError
from dmlbench.plan.choices import Identifier, Model
from dmlbench.plan.plan import Plan
from dmlbench.plan.read import read_yaml
from dmlbench.plan.spec import Spec

_FORWARD = 1 / 3
"""An image that is only embedded, as a share of one that is learnt from."""

_MOST = 500
"""Trainings that a fit looks at; each costs milliseconds of planning."""


class Gpu(Model):
    title: str
    flops: PositiveFloat
    share: float = Field(gt=0, le=1)


class Work(Model):
    """Billions of multiply-adds for one image of `pixels` to a side."""

    pixels: PositiveInt
    multiply_adds: PositiveFloat


class Prior(Model):
    """config/costs.yaml: what is assumed before anything has run."""

    gpu: Gpu
    networks: dict[Identifier, Work]

    def seconds_an_image(self, network: str, pixels: int) -> float | None:
        """Forward and backward, which is three times forward; None for an unknown network."""
        if network not in self.networks:
            return None
        work = self.networks[network]
        operations = 3 * 2e9 * work.multiply_adds * (pixels / work.pixels) ** 2
        return operations / (self.gpu.flops * self.gpu.share)


class Fit(NamedTuple):
    """seconds = start + an_image * images, by least squares over `files` benchmark files."""

    start: float
    an_image: float
    files: int


class CostModel:
    """What trainings of a plan take on one device.

    Args:
        results: the folder of results, with Snakemake's benchmark files of trainings. Snakemake
            does not write down the device: they are taken to come from one kind of it.
    """

    def __init__(self, plan: Plan, results: Path):
        self.plan = plan
        self.prior = read_yaml(plan.folder / "costs.yaml", Prior)
        self.fits = _fits(plan, results)

    def seconds(self, network: str, spec: Spec) -> tuple[float | None, str]:
        """Of one training, and where the estimate comes from; None where nothing knows.

        Args:
            network: the id of the spec's network.
        """
        images, fit = _images(self.plan, spec), self.fits.get(_kind(spec))
        if images is None:
            return None, "the number of images is not known before the data set is indexed"
        if fit:
            return fit.start + fit.an_image * images, (
                f"fitted on {fit.files} trainings here: {fit.start:.0f} s + "
                f"{1000 * fit.an_image:.3g} ms an image"
            )
        assumed = self.prior.seconds_an_image(network, pixels_learnt_from(spec))
        if assumed is None or self.plan.configuration.rehearsal:
            return None, "nothing like it has run, and no prior knows it"
        gpu = self.prior.gpu
        return assumed * images, (
            f"assumed before any has run: {gpu.share:.0%} of the peak of one {gpu.title}"
        )


def fit(points: Sequence[tuple[float, float]]) -> Fit:
    """Least squares of seconds over images, neither part of which may be negative.

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


def pixels_learnt_from(spec: Spec) -> int:
    """The side of the images that the network learns from."""
    sizes = [step.hyperparameters.get("size") for step in spec.transforms.train]
    return next((size for size in reversed(sizes) if size), spec.network.pixels)


def _fits(plan: Plan, results: Path) -> dict[tuple[str, int], Fit]:
    points: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for spec, seconds in _measured(results):
        images = _images(plan, spec)
        if images is not None:
            points.setdefault(_kind(spec), []).append((images, seconds))
    return {kind: fit(found) for kind, found in points.items()}


def _measured(results: Path) -> Iterator[tuple[Spec, float]]:
    """Specs and the seconds that their trainings took, the mean where one was repeated."""
    benchmarks = results / "costs" / "train"
    for file in sorted(benchmarks.glob("*/*/*/*/*/*.tsv"))[:_MOST]:
        with open(file, newline="") as lines:
            seconds = [float(row["s"]) for row in csv.DictReader(lines, delimiter="\t")]
        run = file.relative_to(benchmarks).with_suffix("")
        # A spec that an older version wrote says nothing about those of this one.
        with contextlib.suppress(UserError):
            if seconds:
                spec = read_yaml(results / "runs" / run / "spec.yaml", Spec)
                yield spec, statistics.fmean(seconds)


def _kind(spec: Spec) -> tuple[str, int]:
    """What trainings must share to cost the same an image."""
    return spec.network.backbone.model_dump_json(), pixels_learnt_from(spec)


def _images(plan: Plan, spec: Spec) -> float | None:
    """Images learnt from, and a third of those evaluated; half of a data set tests.

    None where the catalogue does not say how many images there are, or has no such data set.
    """
    # In a rehearsal every data set is the same toy.
    toy = next(iter(plan.datasets.values())) if plan.configuration.rehearsal else None
    dataset = toy or plan.datasets.get(spec.dataset)
    if dataset is None:
        return None
    drawn = dataset.generator.hyperparameters if dataset.generator else {}
    images = dataset.images or drawn.get("characters", 0) * drawn.get("images_per_character", 0)
    if not images:
        return None
    epoch = (spec.iterations_per_epoch or 0) * spec.batch_size or images / 2
    evaluations = -(-spec.epochs // spec.evaluate_every)
    return spec.epochs * epoch + evaluations * images / 2 * _FORWARD

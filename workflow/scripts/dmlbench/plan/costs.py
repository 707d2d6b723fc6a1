"""What the trainings of a call will cost: fitted on those that have run, or assumed before."""

import csv
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, PositiveFloat, PositiveInt

from dmlbench.errors import UserError
from dmlbench.plan.choices import Identifier, Model
from dmlbench.plan.plan import Plan
from dmlbench.plan.read import read_yaml
from dmlbench.plan.run import Run
from dmlbench.plan.views import view

_FORWARD = 1 / 3
"""An image that is only embedded, as a share of one that is learnt from."""


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


class Cost(NamedTuple):
    """What the trainings of one network at one image size will take.

    Attributes:
        network: its id.
        pixels: the side of the images that it learns from.
        trainings: how many are still to be done.
        seconds: of all of them, one after the other; None where neither a fit nor a prior knows.
        source: where the estimate comes from.
    """

    network: str
    pixels: int
    trainings: int
    seconds: float | None
    source: str


def asked(plan: Plan, targets: Sequence[str]) -> dict[str, list[Run]]:
    """Study -> the runs that targets by name need of it: a study, one of its views, or `all`."""
    return {
        study: list(dict.fromkeys(run for target in targets for run in _runs(plan, study, target)))
        for study in plan.studies
    }


def summary(plan: Plan, targets: Sequence[str]) -> list[str]:
    """What a dry run says before its list of jobs; nothing for targets without trainings."""
    wanted = asked(plan, targets)
    runs = list(dict.fromkeys(run for found in wanted.values() for run in found))
    if not runs:
        return []
    others = {run for study, found in wanted.items() if not found for run in plan.runs(study)}
    trained = list(dict.fromkeys(plan.stand_ins.get(run, run) for run in runs))
    results = Path(plan.configuration.pathvars.results)
    todo = [run for run in trained if not _is_done(results, run)]
    lines = [
        f"{len(trained)} trainings asked for, {sum(run in others for run in runs)} shared with "
        f"other studies, {len(trained) - len(todo)} done already"
    ]
    costs = estimate(plan, todo, results / "costs" / "train")
    known = [cost.seconds for cost in costs if cost.seconds is not None]
    if known:
        more = "" if len(known) == len(costs) else " and what is not known"
        lines.append(f"the other {len(todo)} take about {_hours(sum(known))} of one device{more}:")
    return lines + [
        f"  {cost.network} at {cost.pixels} pixels, {cost.trainings} trainings: "
        f"{'unknown' if cost.seconds is None else _hours(cost.seconds)} ({cost.source})"
        for cost in costs
    ]


def estimate(plan: Plan, runs: Iterable[Run], benchmarks: Path) -> list[Cost]:
    """Expected cost of trainings, by network and image size, in the order of the runs.

    Args:
        benchmarks: folder of Snakemake's benchmark files, `<run>.tsv`. Snakemake does not write
            down the device: the files of one folder are taken to come from one kind of it.
    """
    prior = read_yaml(plan.folder / "costs.yaml", Prior)
    fits = _fits(plan, benchmarks)
    groups: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.network, _pixels(plan, run)), []).append(run)
    costs = []
    for (network, pixels), members in groups.items():
        images = [_images(plan, run) for run in members]
        seconds, source = None, "nothing like it has run, and no prior knows it"
        found = fits.get(_kind(plan, members[0]))
        assumed = prior.seconds_an_image(network, pixels)
        if None in images:
            source = "the number of images is not known before the data set is indexed"
        elif found:
            seconds = sum(found.start + found.an_image * count for count in images)
            source = (
                f"fitted on {found.files} trainings here: {found.start:.0f} s + "
                f"{1000 * found.an_image:.3g} ms an image"
            )
        elif assumed and not plan.configuration.rehearsal:
            seconds = sum(assumed * count for count in images)
            source = (
                f"assumed before any has run: {prior.gpu.share:.0%} of the peak of one "
                f"{prior.gpu.title}"
            )
        costs.append(Cost(network, pixels, len(members), seconds, source))
    return costs


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


def _fits(plan: Plan, benchmarks: Path) -> dict[tuple[str, int], Fit]:
    points: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for run, seconds in _measured(benchmarks):
        try:
            kind, images = _kind(plan, run), _images(plan, run)
        except (KeyError, UserError):
            continue  # What the catalogues no longer know says nothing about what they plan.
        if images is not None:
            points.setdefault(kind, []).append((images, seconds))
    return {kind: fit(found) for kind, found in points.items()}


def _measured(benchmarks: Path) -> Iterator[tuple[Run, float]]:
    """Runs and the seconds that their trainings took, the mean where one was repeated."""
    for file in sorted(benchmarks.glob("*/*/*/*/*/*/*.tsv")):
        with open(file, newline="") as lines:
            seconds = [float(row["s"]) for row in csv.DictReader(lines, delimiter="\t")]
        if seconds:
            path = file.relative_to(benchmarks).with_suffix("").as_posix()
            yield Run.parse(path), statistics.fmean(seconds)


def _kind(plan: Plan, run: Run) -> tuple[str, int]:
    """What trainings must share to cost the same an image."""
    return plan.spec(run).network.backbone.model_dump_json(), _pixels(plan, run)


def _pixels(plan: Plan, run: Run) -> int:
    """The side of the images that the network learns from."""
    spec = plan.spec(run)
    sizes = [step.hyperparameters.get("size") for step in spec.transforms.train]
    return next((size for size in reversed(sizes) if size), spec.network.pixels)


def _images(plan: Plan, run: Run) -> float | None:
    """Images learnt from, and a third of those evaluated; half of a data set tests.

    None where the catalogue does not say how many images there are.
    """
    spec, dataset = plan.spec(run), plan.datasets[run.dataset]
    drawn = dataset.generator.hyperparameters if dataset.generator else {}
    images = dataset.images or drawn.get("characters", 0) * drawn.get("images_per_character", 0)
    if not images:
        return None
    epoch = (spec.iterations_per_epoch or 0) * spec.batch_size or images / 2
    evaluations = -(-spec.epochs // spec.evaluate_every)
    return spec.epochs * epoch + evaluations * images / 2 * _FORWARD


def _runs(plan: Plan, study: str, target: str) -> list[Run]:
    """The runs that a target by name needs of a study; none for the name of something else."""
    if target in ("all", study):
        return plan.runs(study)
    kind, _, name = target.removeprefix(f"{study}_").partition("_")
    if kind == "figure" and name.startswith("map_"):
        kind, name = "map", name.removeprefix("map_")
    if not target.startswith(f"{study}_") or kind not in ("tournament", "table", "figure", "map"):
        return []
    try:
        chosen = view(plan, study, kind, name)
    except UserError:
        return []
    return [] if getattr(chosen, "searches", []) else plan.runs(study, chosen.where)


def _is_done(results: Path, run: Run) -> bool:
    return (results / "runs" / run.path / "model.safetensors").exists()


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 0.1:
        return f"{seconds / 60:.0f} minutes" if seconds > 90 else "a minute"
    return f"{hours:.0f} hours" if hours >= 10 else f"{hours:.1f} hours"

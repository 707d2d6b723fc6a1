"""What is left to run, and what it will cost."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.costs.estimates import Estimate, Estimator
from dmlbench.plan.costs.memory_model import Memory
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import Run
from dmlbench.plan.specs.spec import Spec
from dmlbench.words import counted

_A_DAY = 24 * 3600
"""Seconds on CPUs above which the time of trainings on a GPU is printed too."""


class Ahead(NamedTuple):
    """What is to be run.

    Attributes:
        trainings: run -> one of its rows.
        searches: their names.
        downloads: bytes of each file that is fetched; None if the catalogue does not say.
        others: other rules -> number of jobs.
    """

    trainings: Mapping[Run, Row] = {}
    searches: Iterable[str] = ()
    downloads: Iterable[int | None] = ()
    others: Mapping[str, int] = {}


def ahead(plan: Plan, row_of: Callable[[str], Row], jobs: Iterable[tuple[str, Mapping]]) -> Ahead:
    """What some jobs are, for those of a call and for those that a study lacks.

    Args:
        row_of: a row of a run's folder.
        jobs: rule and wildcards of each.
    """
    of: dict[str, list[Mapping]] = {}
    for rule, wildcards in jobs:
        of.setdefault(rule, []).append(wildcards)
    rows = [row_of(each["run"]) for each in of.pop("train", [])]
    names = [name_of_search(each["search"]) for each in of.pop("search_worker", [])]
    files = [
        plan.datasets[each["dataset"]].archives[each["archive"]] for each in of.pop("download", [])
    ]
    files += [plan.weights[each["file"]] for each in of.pop("weights", [])]
    return Ahead(
        {plan.run(row): row for row in rows},
        list(dict.fromkeys(names)),
        [file.bytes for file in files],
        {rule: len(found) for rule, found in of.items()},
    )


def name_of_search(folder: str) -> str:
    """The search of a folder, whose name ends in a digest."""
    return folder.rpartition("-")[0]


class Cost(NamedTuple):
    """The time of a part of the work, one job after the other.

    Attributes:
        what: the part, in words.
        seconds: None if some of it is unknown.
        source: where the number comes from.
    """

    what: str
    seconds: float | None
    source: str


def lines(plan: Plan, ahead: Ahead, *, gpu: bool) -> list[str]:
    """A line for each part of the work, then a line with the sum; no lines if nothing is left.

    Trainings that will not fit into a GPU's memory have lines in between.

    Args:
        gpu: whether trainings will run on a GPU.
    """
    model = Estimator(plan, Path(plan.configuration.pathvars.results), gpu=gpu)
    parts = costs(model, ahead)
    part_lines = [
        f"  {part.what}: unknown here: {part.source}"
        if part.seconds is None
        else f"  {part.what}: {duration(part.seconds)} ({part.source})"
        for part in parts
    ]
    if ahead.downloads:
        part_lines.append(
            f"  {counted(len(ahead.downloads), 'download')}: {_bytes(ahead.downloads)}"
        )
    if gpu:
        part_lines += [f"  {line}" for line in too_large(plan, ahead)]
    total = left(parts, _on_a_gpu(model, ahead))
    return [*part_lines, f"{_what(ahead)}: {total}"] if part_lines else []


def costs(model: Estimator, ahead: Ahead) -> list[Cost]:
    """Trainings by network and image size, searches by network, all other jobs."""
    parts: dict[str, list[Estimate]] = {}
    for run, row in ahead.trainings.items():
        reduced = "" if run.spec.precision == "float32" else f" in {run.spec.precision}"
        kind = f"{row.network} at {run.spec.pixels} pixels{reduced}"
        parts.setdefault(kind, []).append(model.training(row.network, run.spec))
    found = [
        _cost(f"{kind}, {counted(len(each), 'training')}", each) for kind, each in parts.items()
    ]
    by_network: dict[str, list[str]] = {}
    for name in ahead.searches:
        by_network.setdefault(model.plan.searches[name].run.network, []).append(name)
    for network, names in by_network.items():
        trials = sum(model.plan.searches[name].budget for name in names)
        what = f"{network}, {counted(len(names), 'search', 'searches')}, at most {trials:,} trials"
        found.append(_cost(what, [model.search(name) for name in names]))
    if ahead.others:
        what = counted(sum(ahead.others.values()), "other job")
        timed = {rule: model.job(rule) for rule in ahead.others}
        never = sorted(rule for rule, seconds in timed.items() if seconds is None)
        known = sum(count * (timed[rule] or 0) for rule, count in ahead.others.items())
        without = f", without {', '.join(never)}" if never else ""
        has_run = len(never) < len(timed)
        source = f"as timed here{without}" if has_run else "none of them has run here"
        found.append(Cost(what, known if has_run else None, source))
    return found


def _cost(what: str, estimates: list[Estimate]) -> Cost:
    """The sum of estimates, with the source of the first."""
    return Cost(what, _sum(each.seconds for each in estimates), estimates[0].source)


def _sum(numbers: Iterable[float | None]) -> float | None:
    numbers = list(numbers)
    return None if None in numbers else sum(numbers)


def left(parts: list[Cost], elsewhere: str | None = None) -> str:
    """The total time and the parts whose time is unknown.

    Args:
        elsewhere: what it takes on another machine, in words; said if it is long here.
    """
    known = [part.seconds for part in parts if part.seconds is not None]
    unknown = [part.what for part in parts if part.seconds is None]
    if not parts:
        return "a matter of the network"
    if not known:
        return "unknown here"
    time = f"{duration(sum(known))}, one job after the other"
    if elsewhere and sum(known) > _A_DAY:
        time += f" ({elsewhere})"
    # First, because it is usually most of the work: the time of the rest must not pass for all.
    return f"unknown here: {' and '.join(unknown)}; the rest: {time}" if unknown else time


def _on_a_gpu(model: Estimator, ahead: Ahead) -> str | None:
    """What trainings would take on a GPU, in words; nothing if they run on one, or if unknown."""
    if model.gpu:
        return ""
    there = _sum(model.on_the_gpu(row.network, run.spec) for run, row in ahead.trainings.items())
    return there and f"{duration(there)} of trainings on {model.prior.gpu.title}"


def too_large(plan: Plan, ahead: Ahead) -> list[str]:
    """A line for each kind of training that needs more memory than its share of a GPU.

    No lines if the configuration does not say what a GPU holds.
    """
    configuration = plan.configuration
    if configuration.gpu_memory is None:
        return []
    available = 1e9 * configuration.gpu_memory / configuration.runs_per_gpu
    memory = read_yaml(plan.folder / "memory.yaml", Memory)
    counts: dict[str, int] = {}
    for network, spec in _specs(plan, ahead):
        needed = memory.of_training(network, spec)
        if needed is not None and needed > available:
            what = (
                f"{network} at {spec.pixels} pixels, batches of {spec.batch_size} in "
                f"{spec.precision}: about {needed / 1e9:.0f} GB"
            )
            counts[what] = counts.get(what, 0) + 1
    shared = f", shared by {configuration.runs_per_gpu}" * (configuration.runs_per_gpu > 1)
    return [
        f"will not fit into a GPU of {configuration.gpu_memory:g} GB{shared}: {what}, "
        f"{counted(count, 'training')}"
        for what, count in counts.items()
    ]


def _specs(plan: Plan, ahead: Ahead) -> Iterable[tuple[str, Spec]]:
    """Every remaining training with its network's id, trials of searches included."""
    for run, row in ahead.trainings.items():
        yield row.network, run.spec
    for name in ahead.searches:
        for spec in searches.trial_specs(plan, name):
            yield plan.searches[name].run.network, spec


def _what(ahead: Ahead) -> str:
    """The work, counted."""
    untrained = sum(run.spec.epochs == 0 for run in ahead.trainings)
    only = f" ({untrained} of networks that stay untrained)" if untrained else ""
    counts = {
        f"{counted(len(ahead.trainings), 'training')}{only}": ahead.trainings,
        counted(len(ahead.searches), "search", "searches"): ahead.searches,
        counted(sum(ahead.others.values()), "other job"): ahead.others,
        f"{_bytes(ahead.downloads)} to download": ahead.downloads,
    }
    return ", ".join(what for what, jobs in counts.items() if jobs)


def duration(seconds: float) -> str:
    """Approximate duration, in words."""
    hours = seconds / 3600
    if hours < 1.5:
        return f"about {seconds / 60:.0f} minutes" if seconds > 90 else "about a minute"
    return f"about {hours:,.0f} hours" if hours >= 10 else f"about {hours:.1f} hours"


def _bytes(sizes: Iterable[int | None]) -> str:
    known = sum(size or 0 for size in sizes)
    unknown = sum(size is None for size in sizes)
    words = [f"{known / 1e9:.1f} GB" if known >= 1e8 else f"{known / 1e6:.0f} MB"] if known else []
    words += [f"{counted(unknown, 'file')} of unknown size"] if unknown else []
    return " and ".join(words)

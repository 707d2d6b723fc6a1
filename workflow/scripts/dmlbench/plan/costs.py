"""What is left to run, and what it will cost."""

import csv
import statistics
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dmlbench.plan import paths, searches
from dmlbench.plan.cost_model import CostModel, Estimate
from dmlbench.plan.memory_model import Memory
from dmlbench.plan.plan import Plan
from dmlbench.plan.read import read_yaml
from dmlbench.plan.rows import Row
from dmlbench.plan.run import Run
from dmlbench.plan.spec import Spec
from dmlbench.words import counted

_LONG = 3600
"""Seconds of trainings above which the time in reduced precision is printed too."""

_A_DAY = 24 * 3600
"""Seconds on CPUs above which the time of trainings on a GPU is printed too."""

_TIMED = 50
"""Benchmark files of a rule that are read."""


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


class Cost(NamedTuple):
    """The time of a part of the work, one job after the other.

    Attributes:
        what: the part, in words.
        seconds: None if some of it is unknown.
        source: where the number comes from.
        on_a_gpu: seconds on the prior's GPU, on a machine without one; None if unknown.
    """

    what: str
    seconds: float | None
    source: str
    on_a_gpu: float | None = None


def lines(plan: Plan, ahead: Ahead, *, gpu: bool) -> list[str]:
    """A line for each part of the work, then a line with the sum; no lines if nothing is left.

    Trainings that will not fit into a GPU's memory have lines in between.

    Args:
        gpu: whether trainings will run on a GPU.
    """
    model = CostModel(plan, Path(plan.configuration.pathvars.results), gpu=gpu)
    parts = costs(model, ahead)
    part_lines = [f"  {part.what}: {_in_words(part, model)}" for part in parts]
    if ahead.downloads:
        part_lines.append(
            f"  {counted(len(ahead.downloads), 'download')}: {_bytes(ahead.downloads)}"
        )
    if gpu:
        part_lines += [f"  {line}" for line in [*faster(model, ahead), *too_large(plan, ahead)]]
    return [*part_lines, f"{_what(ahead)}: {total(model, parts)}"] if part_lines else []


def faster(model: CostModel, ahead: Ahead) -> list[str]:
    """The time of long float32 trainings in the variant `fast`, which a study must ask for.

    No line if it is unknown, if the trainings are short, or if it saves less than a tenth.
    """
    plain = {run: row for run, row in ahead.trainings.items() if run.spec.precision == "float32"}
    now, fast = 0.0, 0.0
    for run, row in plain.items():
        reduced = run.spec.model_copy(update={"precision": "bfloat16"})
        pair = [model.estimate(row.network, spec).seconds for spec in (run.spec, reduced)]
        # Measured times must not be compared with assumed ones.
        if None not in pair and model.is_fitted(run.spec) == model.is_fitted(reduced):
            now, fast = now + pair[0], fast + pair[1]
    if now < _LONG or fast > 0.9 * now:
        return []
    return [f"in bfloat16 (variant fast) {duration(fast)} instead of {duration(now)}"]


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


def total(model: CostModel, parts: list[Cost]) -> str:
    """The total time, that of long trainings on a GPU, and the parts whose time is unknown."""
    known = [part.seconds for part in parts if part.seconds is not None]
    unknown = [part for part in parts if part.seconds is None]
    on_a_gpu = [part.on_a_gpu for part in unknown if part.on_a_gpu is not None]
    elsewhere = f"; {duration(sum(on_a_gpu))} on one {model.prior.gpu.title}" if on_a_gpu else ""
    if not known:
        return f"unknown here{elsewhere}" if parts else "a matter of the network"
    time = f"{duration(sum(known))}, one job after the other"
    there = [part.on_a_gpu for part in parts if None not in (part.seconds, part.on_a_gpu)]
    if there and sum(known) > _A_DAY:
        time += f" ({duration(sum(there))} of trainings on one {model.prior.gpu.title})"
    if not unknown:
        return time
    # First, because it is usually most of the work: the time of the rest must not pass for all.
    what = " and ".join(part.what for part in unknown)
    return f"unknown here: {what}{elsewhere}; the rest: {time}"


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


def costs(model: CostModel, ahead: Ahead) -> list[Cost]:
    """Trainings by network and image size, searches, all other jobs."""
    return [
        *_of_trainings(model, ahead.trainings),
        *_of_searches(model, ahead.searches),
        *_of_others(model, ahead.others),
    ]


def _of_trainings(model: CostModel, runs: Mapping[Run, Row]) -> list[Cost]:
    estimates: dict[str, list[Estimate]] = {}
    for run, row in runs.items():
        kind = f"{row.network} at {run.spec.pixels} pixels"
        if run.spec.precision != "float32":
            kind += f" in {run.spec.precision}"
        estimates.setdefault(kind, []).append(model.estimate(row.network, run.spec))
    return [
        _cost(f"{kind}, {counted(len(each), 'training')}", each) for kind, each in estimates.items()
    ]


def _of_searches(model: CostModel, names: Iterable[str]) -> list[Cost]:
    """Every trial of the budgets, to its last epoch and in every fold, by network."""
    by_network: dict[str, list[str]] = {}
    for name in names:
        by_network.setdefault(model.plan.searches[name].run.network, []).append(name)
    return [_of_network(model, network, some) for network, some in by_network.items()]


def _of_network(model: CostModel, network: str, names: list[str]) -> Cost:
    estimates = [estimate for name in names for estimate in _of_search(model, name)]
    trials = sum(model.plan.searches[name].budget for name in names)
    named = counted(len(names), "search", "searches")
    return _cost(f"{network}, {named}, at most {trials:,} trials", estimates)


def _of_search(model: CostModel, name: str) -> list[Estimate]:
    """Of each training of a search, as if no trial ended early; a worker starts once."""
    search = model.plan.searches[name]
    specs = searches.trial_specs(model.plan, name)
    each = [model.estimate(search.run.network, spec) for spec in specs] * search.budget
    return [*each[: search.workers], *(e.in_a_started_process() for e in each[search.workers :])]


def seconds_of_search(model: CostModel, name: str) -> float | None:
    """Seconds of all trials of a search, one after the other; None if unknown."""
    return _sum(estimate.seconds for estimate in _of_search(model, name))


def _of_others(model: CostModel, jobs: Mapping[str, int]) -> list[Cost]:
    """Jobs of rules that have run here take as long as they took."""
    if not jobs:
        return []
    results = Path(model.plan.configuration.pathvars.results)
    timed = {rule: _timed(results / paths.COSTS / rule) for rule in jobs}
    never = [rule for rule, seconds in timed.items() if seconds is None]
    known = sum(count * (timed[rule] or 0) for rule, count in jobs.items())
    what = counted(sum(jobs.values()), "other job")
    if len(never) == len(jobs):
        return [Cost(what, None, "none of them has run here")]
    without = f", without {', '.join(sorted(never))}" if never else ""
    return [Cost(what, known, f"as timed here{without}")]


def _timed(folder: Path) -> float | None:
    """Mean seconds of a rule's benchmark files."""
    files = [folder.with_suffix(".tsv")] if folder.with_suffix(".tsv").exists() else []
    seconds = []
    for file in [*files, *islice(folder.rglob("*.tsv"), _TIMED)]:
        with open(file, newline="") as rows:
            seconds += [float(row["s"]) for row in csv.DictReader(rows, delimiter="\t")]
    return statistics.fmean(seconds) if seconds else None


def _cost(what: str, estimates: list[Estimate]) -> Cost:
    """The sum of estimates, with the source of the first."""
    seconds, on_a_gpu = (
        _sum(getattr(each, name) for each in estimates) for name in ("seconds", "on_a_gpu")
    )
    return Cost(what, seconds, estimates[0].source, on_a_gpu)


def _sum(numbers: Iterable[float | None]) -> float | None:
    numbers = list(numbers)
    return None if None in numbers else sum(numbers)


def _in_words(cost: Cost, model: CostModel) -> str:
    """The time of a part, and where the number comes from."""
    if cost.seconds is not None:
        return f"{duration(cost.seconds)} ({cost.source})"
    if cost.on_a_gpu is None:
        return f"unknown here: {cost.source}"
    there = f"{duration(cost.on_a_gpu)} on one {model.prior.gpu.title}"
    return f"unknown here: {cost.source}; {there}"


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

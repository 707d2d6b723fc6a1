"""The lines of `snakemake help` and `snakemake status`."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.costs import costs
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.plan.costs.progress import Progress, of_study, of_view
from dmlbench.plan.specs import published_runs
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views import pages, views
from dmlbench.results_lock import claimed_by

_TITLE = 48
_WIDTH = 98
_CALLS = (
    "snakemake TARGET -nq              what it would train and download, and how long that takes",
    "snakemake --cores all TARGET      make it (--profile profiles/gpu: a GPU, slurm: a cluster)",
    "snakemake --cores 1 STUDY_status  how far a study is, and the targets of its tables, figures",
)
_OTHERS = {
    "all": "every study",
    "agreement": "a verdict on every printed number of the papers",
    "audit": "the printed numbers of the papers, checked",
    "claims": "a verdict on every claim of the papers",
    "data_all": "every data set, fetched and indexed",
    "experiment_NAME": "an entry of config/experiments.yaml",
    "reproduced_STUDY": "a share of a published study's runs, trained again and compared",
    "search_NAME": "an entry of config/searches.yaml",
    "status": "what has begun: running, failed, missing, time left",
    "verify": "whether the files are those that the studies would write now",
    "unused": "results that no study names any more",
}


def targets(plan: Plan, *, gpu: bool) -> list[str]:
    """What to call, what has begun, and every study by name: one screen.

    Args:
        gpu: whether trainings will run on a GPU.
    """
    results = Path(plan.configuration.pathvars.results)
    model = Estimator(plan, results, gpu=gpu)
    begun, broken = [], dict(plan.broken)
    for study in plan.studies:
        try:
            progress = Progress(results, of_study(plan, study))
            if progress.has_begun:
                begun.append((study, plan.studies[study].title, _state(plan, model, progress)))
        except UserError as error:
            broken[study] = str(error)
    named = {study for study, *_ in begun} | set(broken)
    others = [study for study in plan.studies if study not in named]
    published = [study for study in others if study in published_runs.published_studies(plan)]
    rows = [(name, title, "") for name, title in _OTHERS.items()]
    return [
        *_CALLS,
        "",
        *_aligned([*rows, *begun]),
        *_listed("published", published),
        *_listed("others", [study for study in others if study not in published]),
        *(f"{study}: cannot be used: {problem}" for study, problem in broken.items()),
        *plan.warnings_of_absent_images(),
    ]


def _aligned(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    width = max(len(name) for name, _, _ in rows)
    return [
        f"{name:<{width}}  {_short(title):<{_TITLE}}  {state}".rstrip()
        for name, title, state in rows
    ]


def _listed(what: str, studies: Sequence[str]) -> list[str]:
    """Names of studies in lines."""
    text = f"{what}, {len(studies)}: {', '.join(studies)}"
    return ["", *textwrap.wrap(text, _WIDTH, subsequent_indent="  ")] if studies else []


def _targets_of(plan: Plan, study: str, results: Path, *, gpu: bool) -> list[str]:
    """Target, title and state of each view of a study."""
    model, rows = Estimator(plan, results, gpu=gpu), []
    if (target := f"{study}_claims") in pages.targets(plan, study):
        rows.append((target, "a verdict on every claim, with what has run so far", ""))
    for name, view in views.views(plan, study).items():
        progress = Progress(results, of_view(plan, study, name))
        title = getattr(view, "title", "Tournament")
        rows.append((_target(study, name), title, _state(plan, model, progress)))
    return _aligned(rows) if rows else []


def status(plan: Plan, *, gpu: bool, only: str | None = None) -> list[str]:
    """The progress of the studies that have begun: running, failed and why, missing, time left.

    One line names all others.

    Args:
        gpu: whether trainings will run on a GPU.
        only: the one study that is asked for, begun or not; None for all.
    """
    results = Path(plan.configuration.pathvars.results)
    holder = claimed_by(results)
    lines = [f"{results}: {holder} is at work" if holder else f"{results}: no call is at work"]
    broken, untouched = dict(plan.broken), []
    for study in plan.studies if only is None else [only]:
        try:
            if only or Progress(results, of_study(plan, study)).has_begun:
                lines += ["", *of_one(plan, study, gpu=gpu)]
                lines += ["", *_targets_of(plan, study, results, gpu=gpu)] if only else []
            else:
                untouched.append(study)
        except UserError as error:
            broken[study] = str(error)
    if untouched:
        lines += ["", f"not begun, {len(untouched)}: {', '.join(untouched)}"]
    if only:
        broken = {study: problem for study, problem in broken.items() if study == only}
    lines += [f"{study}: cannot be used: {problem}" for study, problem in broken.items()]
    return lines + plan.warnings_of_absent_images()


def of_one(plan: Plan, study: str, *, gpu: bool) -> Iterator[str]:
    """The progress of one study; arguments as `status`."""
    results = Path(plan.configuration.pathvars.results)
    progress = Progress(results, of_study(plan, study))
    scored, runs = progress.done("evaluate")
    counted = f", {scored} of {runs} runs scored" if runs else ""
    if published := published_runs.said(plan, study):
        counted += f", {published}"
    if not progress.missing:
        yield f"{study}: done{counted}"
        return
    now = [
        f", {len(progress.begun[state])} {state}"
        for state in ("running", "waiting", "failed")
        if progress.begun[state]
    ]
    begun = "unfinished" if progress.has_begun else "not begun"
    yield f"{study}: {begun}{counted}{''.join(now)}"
    for state, stages in progress.begun.items():
        for stage, why in stages:
            yield f"  {state:<8} {stage.rule} {stage.what}{why}"
    rules = Counter(stage.rule for stage in progress.missing)
    yield f"  missing  {', '.join(f'{count} {rule}' for rule, count in rules.items())}"
    yield f"  left     {costs.lines(plan, progress.ahead(plan), gpu=gpu)[-1]}"


def _state(plan: Plan, model: Estimator, progress: Progress) -> str:
    if not progress.missing:
        return "done"
    ahead = progress.ahead(plan)
    time = costs.left(costs.costs(model, ahead)) if ahead.trainings else ""
    embedded, runs = progress.done("embed")
    begun = f"{embedded} of {runs} runs" if runs else "not done"
    failed = progress.begun["failed"] and f", {len(progress.begun['failed'])} failed"
    return f"{begun}{failed or ''}{'; left: ' if time else ''}{time}"


def _target(study: str, name: str) -> str:
    kind, _, own = name.partition(".")
    kinds = {"tables": "table", "figures": "figure", "embedding_maps": "figure"}
    return f"{study}_{kinds[kind]}_{own}" if own else f"{study}_{kind}"


def _short(title: str) -> str:
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 3]}..."

"""The lines of `snakemake help` and `snakemake status`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.catalogs.search_lists import expanded
from dmlbench.plan.costs import costs
from dmlbench.plan.costs.estimates import Estimator
from dmlbench.plan.costs.progress import Progress, of_study, of_view
from dmlbench.plan.specs import published_runs
from dmlbench.plan.specs.config_folder import SEARCHES
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views import pages, views
from dmlbench.results_lock import claimed_by

_TITLE = 48
_OTHERS = {
    "all": "every study",
    "agreement": "a verdict on every printed number of the papers",
    "audit": "the printed numbers of the papers, checked",
    "claims": "a verdict on every claim of the papers",
    "data_all": "every data set, fetched and indexed",
    "help": "this list",
    "reproduced_<study>": "a share of a published study's runs, trained again and compared",
    "status": "what is done and missing; <study>_status: of one",
    "verify": "whether the files are those that the studies would write now",
    "unused": "results that no study names any more",
}


def targets(plan: Plan, *, gpu: bool) -> list[str]:
    """Every target by name: title, state, and remaining time.

    Args:
        gpu: whether trainings will run on a GPU.
    """
    results = Path(plan.configuration.pathvars.results)
    model = Estimator(plan, results, gpu=gpu)
    rows, broken = [], dict(plan.broken)
    for study in plan.studies:
        try:
            rows += _of_study(plan, model, study, results)
        except UserError as error:
            broken[study] = str(error)
    rows += [(study, "cannot be used", problem) for study, problem in broken.items()]
    rows += _searches(plan)
    rows += [(f"experiment_{name}", entry.title, "") for name, entry in plan.experiments.items()]
    rows += [(name, title, "") for name, title in _OTHERS.items()]
    width = max(len(name) for name, _, _ in rows)
    return [
        *(
            f"{name:<{width}}  {_short(title):<{_TITLE}}  {state}".rstrip()
            for name, title, state in rows
        ),
        *plan.warnings_of_absent_images(),
    ]


def _searches(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Entries as written: of thousands of searches most differ in a data set, size or split."""
    for file in (folder / SEARCHES for folder in (plan.folder, *plan.own)):
        for name, entry in read_mapping(file).items() if file.exists() else ():
            searches = expanded({name: entry})
            several = f"{len(searches)} searches, by the values in {file}"
            yield f"search_{name}", str(entry["title"]), several if len(searches) > 1 else ""


def _of_study(plan: Plan, model: Estimator, study: str, results: Path) -> list[tuple]:
    """Name, title and state of a study and of each of its views."""
    progress = Progress(results, of_study(plan, study))
    rows = [(study, plan.studies[study].title, _state(plan, model, progress))]
    if (target := f"{study}_claims") in pages.targets(plan, study):
        rows.append((f"  {target}", "a verdict on every claim, with what has run so far", ""))
    for name, view in views.views(plan, study).items():
        progress = Progress(results, of_view(plan, study, name))
        title = getattr(view, "title", "Tournament")
        rows.append((f"  {_target(study, name)}", title, _state(plan, model, progress)))
    return rows


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
    trainings = progress.ahead(plan)._replace(others={})
    time = costs.left(costs.costs(model, trainings)) if trainings.trainings else ""
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

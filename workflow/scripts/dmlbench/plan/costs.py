"""What the trainings and searches of a call will cost, as a dry run says."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan import searches
from dmlbench.plan.cost_model import CostModel, pixels_learnt_from
from dmlbench.plan.plan import Plan
from dmlbench.plan.rows import Row
from dmlbench.plan.run import Run
from dmlbench.plan.views import View, searches_of, trained_rows, view, views

Costs = dict[str, list[tuple[float | None, str]]]
"""What costs -> (seconds, source) of each training in it."""


def summary(plan: Plan, targets: Sequence[str]) -> list[str]:
    """What a dry run says before its list of jobs; nothing for targets without trainings."""
    results = Path(plan.configuration.pathvars.results)
    wanted = asked(plan, targets)
    trained = _trained(plan, _once(wanted.values()))
    tuned = asked_searches(plan, targets)
    if not trained and not tuned:
        return []
    todo = {
        run: row
        for run, row in trained.items()
        if not (results / "runs" / run.folder / "model.safetensors").exists()
    }
    open_searches = [
        name for name in tuned if not (results / searches.folder(plan, name) / "best.yaml").exists()
    ]
    others = {run for study, found in wanted.items() if not found for run in plan.runs(study)}
    lines = [
        f"{len(trained)} trainings asked for, {sum(run in others for run in trained)} shared with "
        f"other studies, {len(trained) - len(todo)} done already"
    ]
    if tuned:
        lines.append(f"{len(tuned)} searches asked for, {len(tuned) - len(open_searches)} done")
    model = CostModel(plan, results)
    costs = _of_trainings(model, todo) | _of_searches(plan, model, open_searches)
    known = [seconds for found in costs.values() for seconds, _ in found if seconds is not None]
    if known:
        count = sum(map(len, costs.values()))
        more = "" if len(known) == count else " and what is not known"
        lines.append(f"what is left takes about {_hours(sum(known))} of one device{more}:")
    return lines + [f"  {what}: {_listed(found)}" for what, found in costs.items()]


def asked(plan: Plan, targets: Sequence[str]) -> dict[str, list[Row]]:
    """Study -> the rows that targets by name need of it: a study, one of its views, or `all`."""
    return {
        study: _once(_rows(plan, study, target) for target in targets) for study in plan.studies
    }


def _trained(plan: Plan, rows: Iterable[Row]) -> dict[Run, Row]:
    """The runs behind rows that are trained, each with the first of its rows."""
    found: dict[Run, Row] = {}
    for row in rows:
        run = plan.run(row)
        if run.spec.epochs:
            found.setdefault(run, row)
    return found


def asked_searches(plan: Plan, targets: Sequence[str]) -> list[str]:
    """The searches that targets by name need: by a view, by a tuned row, or themselves."""
    named = [[name] for name in plan.searches if f"search_{name}" in targets]
    shown = (
        searches_of(chosen)
        for target in targets
        for study in plan.studies
        for chosen in _views(plan, study, target)
    )
    rows = _once(asked(plan, targets).values())
    tuned = [[search] for row in rows if (search := plan.search_of(row))]
    return _once([*named, *shown, *tuned])


def _rows(plan: Plan, study: str, target: str) -> list[Row]:
    if target in ("all", study):
        return plan.rows(study)
    return _once(trained_rows(plan, study, found.where) for found in _views(plan, study, target))


def _views(plan: Plan, study: str, target: str) -> list[View]:
    """The views that a target by name makes of a study; none for the name of something else."""
    if target in ("all", study):
        return list(views(plan, study).values())
    kind, _, name = target.removeprefix(f"{study}_").partition("_")
    if not target.startswith(f"{study}_") or kind not in ("tournament", "table", "figure"):
        return []
    if kind == "figure" and name in plan.studies[study].embedding_maps:
        kind = "map"
    try:
        return [view(plan, study, kind, name)]
    except UserError:
        return []


def _of_trainings(model: CostModel, runs: Mapping[Run, Row]) -> Costs:
    """By network and image size, in the order of the runs."""
    found: dict[tuple[str, int], list] = {}
    for run, row in runs.items():
        cost = model.seconds(row.network, run.spec)
        found.setdefault((row.network, pixels_learnt_from(run.spec)), []).append(cost)
    return {
        f"{network} at {pixels} pixels, {len(costs)} trainings": costs
        for (network, pixels), costs in found.items()
    }


def _of_searches(plan: Plan, model: CostModel, names: Sequence[str]) -> Costs:
    """Every trial of the budgets to its last epoch, in every fold."""
    costs, trials = [], 0
    for name in names:
        search = plan.searches[name]
        for spec in searches.trial_specs(plan, name):
            costs += [model.seconds(search.run.network, spec)] * search.budget
        trials += search.budget
    return {f"{len(names)} searches, at most {trials} trials": costs} if names else {}


def _listed(costs: Sequence[tuple[float | None, str]]) -> str:
    """The sum, and where the first of the estimates comes from."""
    seconds = [spent for spent, _ in costs]
    total = "unknown" if None in seconds else _hours(sum(seconds))
    return f"{total} ({costs[0][1]})"


def _once(lists: Iterable[Iterable]) -> list:
    return list(dict.fromkeys(item for items in lists for item in items))


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 0.1:
        return f"{seconds / 60:.0f} minutes" if seconds > 90 else "a minute"
    return f"{hours:.0f} hours" if hours >= 10 else f"{hours:.1f} hours"

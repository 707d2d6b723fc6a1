"""Checks of a plan as a whole, so that what is wrong shows before a job starts."""

from dmlbench.errors import UserError, unknown
from dmlbench.plan import searches, views
from dmlbench.plan.plan import Plan


def check(plan: Plan) -> None:
    """Resolve every run and every view of a plan.

    Raises:
        UserError: one line that names file, key and value, and what is allowed.
    """
    for study in plan.studies:
        _check_runs(plan, study)
        for name, view in views.views(plan, study).items():
            _check_view(plan, study, view, f"{plan.file(study)}: {name}")
    for name in plan.searches:
        searches.check(plan, name)


def _check_runs(plan: Plan, study: str) -> None:
    for run in plan.runs(study):
        weights = plan.spec(run).network.weights
        if weights and weights.file not in plan.weights:
            raise unknown("file of weights", weights.file, plan.weights)


def _check_view(plan: Plan, study: str, view, where: str) -> None:
    if not plan.runs(study, view.where):
        runs = len(plan.runs(study))
        raise UserError(f"{where}.where: fits none of the study's {runs} runs")
    for search in views.searches_of(view):
        if search not in plan.searches:
            raise UserError(f"{where}.searches: {unknown('search', search, plan.searches)}")
    try:
        views.selection_of(plan, study, view)
    except UserError as error:
        raise UserError(f"{where}.where: {error}") from None
    for file in views.printed_files(plan, study, view):
        if not file.is_file():
            kind, _, name = file.stem.rpartition("table_")
            there = file.parent.glob(f"{kind}table_*.csv")
            allowed = sorted(other.stem.removeprefix(f"{kind}table_") for other in there)
            raise UserError(f"{where}.kind.printed: {unknown('printed table', name, allowed)}")

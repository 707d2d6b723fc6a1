"""Checks of what a view of a study names; `dry_render` checks that its kind can show its rows."""

from collections import defaultdict

from dmlbench import registry
from dmlbench.errors import UserError, check_known, located, unknown
from dmlbench.plan.catalogs.naming import defaults
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.studies.studies import Figure, Table, Tournament
from dmlbench.plan.views import views

_METRIC = "metric of its data sets"


def check_view(plan: Plan, study: str, view, where: str) -> None:
    """Raise a UserError unless there is what a view names, and it has rows."""
    rows = views.trained_rows(plan, study, view.where)
    printed = views.printed_files(plan, study, view)
    if not printed and not getattr(view, "experiments", None):
        check_where(plan, view.where, f"{where}.where")
    alone = bool(printed) and not plan.studies[study].runs
    if not rows and not alone and not getattr(view, "experiments", None):
        count = len(plan.rows(study))
        raise UserError(f"{where}.where: fits none of the study's {count} rows")
    _check_parts(plan, study, view, where)
    _check_metrics(plan, view, rows, where)
    check_known(f"{where}.searches", "search", views.searches_of(view), plan.searches)
    with located(f"{where}.where"):
        views.selection_of(plan, study, view)
    if getattr(view, "selection", None):
        _check_own_best(plan, view, rows, where)
    for file in printed:
        if not file.is_file():
            kind, _, name = file.stem.rpartition("table_")
            there = file.parent.glob(f"{kind}table_*.csv")
            allowed = sorted(other.stem.removeprefix(f"{kind}table_") for other in there)
            raise UserError(f"{where}.kind.printed: {unknown('printed table', name, allowed)}")
    if isinstance(view, Tournament):
        _check_rivals(plan, rows, where)
    if isinstance(view, Table | Figure):
        _check_searches(view, where)
        if view.experiments:
            _check_experiments(plan, view, rows, where)


def _check_rivals(plan: Plan, rows: list[Row], where: str) -> None:
    """No training takes part in a tournament under two names."""
    methods_of = defaultdict(set)
    for row in rows:
        methods_of[plan.run(row)].add(row.method)
    for methods in methods_of.values():
        if len(methods) > 1:
            raise UserError(
                f"{where}.where: {' and '.join(sorted(methods))} are one training here; allowed: "
                "methods that train differently"
            )


def _check_own_best(plan: Plan, view, rows: list[Row], where: str) -> None:
    """Every trained row has each of the view's metrics in every evaluated epoch."""
    shown = set(view.kind.hyperparameters.get("metrics", ()))
    for spec in map(plan.spec, rows):
        known = spec.own_best_metrics
        missing = ", ".join(sorted(shown - set(known)))
        if spec.epochs and missing:
            raise UserError(
                f"{where}.selection: {view.selection} needs {missing} in the recipe's "
                f"epoch_metrics; allowed: {', '.join(known) or 'none'}"
            )


def _check_searches(view, where: str) -> None:
    """Kinds of searches show searches, and no others do."""
    shown = views.searches_of(view)
    for_searches = registry.constant(view.kind.package, view.kind.name, "SHOWS") == "searches"
    if shown and not for_searches:
        raise UserError(f"{where}.searches: kind {view.kind.name} shows none; allowed: none")
    if for_searches and not shown:
        raise UserError(f"{where}: kind {view.kind.name} shows searches; allowed: with searches")


def _check_experiments(plan: Plan, view, rows: list[Row], where: str) -> None:
    """Metrics and methods are the rows' or those that the view's experiments declare."""
    options = defaults(view.kind.package, view.kind.name) | view.kind.hyperparameters
    metrics = [options.get(key) or () for key in ("metric", "metrics")]
    metrics.append([each["metric"] for each in options.get("numbers") or ()])
    methods = [options.get(key) or () for key in ("losses", "methods", "over")]
    here = {"metrics": _scored(plan, view, rows), "methods": {row.method for row in rows}}
    for what, wanted in (("metrics", metrics), ("methods", methods)):
        declared = [
            registry.constant("experiments", plan.experiments[name].experiment.name, what.upper())
            for name in view.experiments
        ]
        if None in declared:
            continue
        allowed = here[what].union(*declared)
        for names in wanted:
            listed = [names] if isinstance(names, str) else names
            check_known(
                f"{where}.kind", f"{what[:-1]} of its rows and experiments", listed, allowed
            )


def _check_parts(plan: Plan, study: str, view, where: str) -> None:
    """A view may show only measures and experiments that its study lists: no others are made."""
    for kind in ("measures", "experiments"):
        made = getattr(plan.studies[study], kind)
        check_known(f"{where}.{kind}", f"{kind} of the study", getattr(view, kind, []), made)


def _check_metrics(plan: Plan, view, rows: list[Row], where: str) -> None:
    """Tables and figures show metrics that some of their rows have; for rankings, all rows.

    The metrics of experiments are known only once they have run.
    """
    if not rows:
        return
    if isinstance(view, Tournament):
        each = [set(plan.datasets[name].metrics) for name in {row.dataset for row in rows}]
        check_known(f"{where}.metric", _METRIC, [view.metric], set.intersection(*each))
    if not isinstance(view, Table | Figure) or view.experiments:
        return
    scored = _scored(plan, view, rows)
    kind = view.kind
    for option in registry.options_of_kind(kind.package, kind.name, "Metric", "RankingMetric"):
        default = registry.options(kind.package, kind.name)[option].default
        given = kind.hyperparameters.get(option, default)
        listed = [given] if isinstance(given, str) else given or ()
        check_known(f"{where}.kind.{option}", _METRIC, listed, scored)


def _scored(plan: Plan, view: Table | Figure, rows: list[Row]) -> set[str]:
    """The metrics that some of a view's rows have."""
    named = {row.dataset for row in rows}
    return set().union(
        *(plan.datasets[name].metrics for name in named),
        *(plan.measures[name].metrics for name in view.measures),
    )


def check_where(plan: Plan, filtered: Where, where: str) -> None:
    """Raise a UserError for a name that no catalogue has: it would never fit a row."""
    for key, wanted in filtered.wanted:
        catalogue = getattr(plan, f"{key}s", None)
        if isinstance(catalogue, dict):
            check_known(f"{where}.{key}", key, wanted, catalogue)

"""Checks of a view of a study: tables and figures can be made, before a row is trained."""

import functools
from collections import defaultdict

from dmlbench import registry
from dmlbench.errors import UserError, check_known, located, unknown
from dmlbench.plan import needs, view_rows, views
from dmlbench.plan.defaults import defaults
from dmlbench.plan.plan import Plan
from dmlbench.plan.printed import fitting, read_numbers
from dmlbench.plan.rows import Row
from dmlbench.plan.studies import Figure, Table, Tournament
from dmlbench.plan.where import Where

_METRIC = "metric of its data sets"


def check_view(plan: Plan, study: str, view, where: str) -> None:
    """Raise a UserError unless a view can be made of what it names and of its rows."""
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
    _check_needs(plan, study, view, where)


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


def _check_needs(plan: Plan, study: str, view, where: str) -> None:
    """The rows are what the kind needs; experiments may add rows that are not known."""
    rule = "ranks" if isinstance(view, Tournament) else None
    if isinstance(view, Table | Figure):
        rule = registry.constant(view.kind.package, view.kind.name, "NEEDS")
        if views.searches_of(view) and rule not in needs.OF_SEARCHES:
            raise UserError(f"{where}.searches: kind {view.kind.name} shows none; allowed: none")
    if getattr(view, "experiments", None):
        _check_experiments(plan, study, view, where)
    if rule is None or getattr(view, "experiments", None):
        return
    with located(f"{where}.where"):
        getattr(needs, rule)(known(plan, study, view))


def _check_experiments(plan: Plan, study: str, view: Table | Figure, where: str) -> None:
    """Metrics and methods are the rows' or those that the view's experiments declare."""
    chosen = [plan.experiments[name] for name in view.experiments]
    of_rows = known(plan, study, view)
    options = of_rows.options
    metrics = [options.get(key) or () for key in ("metric", "metrics")]
    metrics.append([row["metric"] for row in options.get("rows") or () if "metric" in row])
    methods = [options.get(key) or () for key in ("losses", "methods", "over")]
    here = {
        "metrics": {m for row in of_rows.rows for m in of_rows.metrics(row, "test")},
        "methods": {row.method for row in of_rows.rows},
    }
    for what, wanted in (("metrics", metrics), ("methods", methods)):
        declared = [
            registry.constant("experiments", each.experiment.name, what.upper()) for each in chosen
        ]
        if None in declared:
            continue
        allowed = here[what].union(*declared)
        for names in wanted:
            listed = [names] if isinstance(names, str) else names
            check_known(
                f"{where}.kind", f"{what[:-1]} of its rows and experiments", listed, allowed
            )


def known(plan: Plan, study: str, view: Tournament | Table | Figure) -> view_rows.Known:
    """What is known of a view before it is made."""
    rows = views.rows(plan, study, view.where)
    years = views.years(plan, dict.fromkeys(row.method for row in rows))
    options, printed, measures = {"metric": getattr(view, "metric", None)}, None, []
    if isinstance(view, Tournament):
        rows = [row for row in rows if plan.methods[row.method].loss]
    else:
        options = defaults(view.kind.package, view.kind.name) | view.kind.hyperparameters
        measures = [plan.measures[name] for name in view.measures]
    if options.get("printed"):
        files = views.printed_files(plan, study, view)
        tables = [file for file in files if file.stem.startswith("table_")]
        numbers = read_numbers(tables)
        if renamed := options.get("compared_with"):
            numbers = [
                each._replace(variant=renamed.get(each.variant, each.variant)) for each in numbers
            ]
        printed = fitting(numbers, view.where)

    @functools.cache
    def metrics(dataset: str, role: str, together: bool) -> set[str]:
        scored = role == "test" or (role == "validation" and not together)
        own = set(plan.datasets[dataset].metrics) if scored else set()
        of_role = [each.metrics for each in measures if each.role == role and not together]
        return own.union(*of_role)

    return view_rows.Known(
        rows=rows,
        metrics=lambda row, role: metrics(row.dataset, role, row.fold in view_rows.FORMS),
        options=options,
        baseline=views.baseline(plan, study),
        years=years,
        printed=printed,
        arrays=frozenset(array for each in measures for array in each.arrays),
        searches={name: plan.searches[name] for name in views.searches_of(view)},
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
    each = [set(plan.datasets[name].metrics) for name in {row.dataset: row for row in rows}]
    if isinstance(view, Tournament):
        check_known(f"{where}.metric", _METRIC, [view.metric], set.intersection(*each))
    if not isinstance(view, Table | Figure) or view.experiments:
        return
    scored = set.union(*each).union(*(plan.measures[name].metrics for name in view.measures))
    kind = view.kind
    for option in registry.options_of_kind(kind.package, kind.name, "Metric", "RankingMetric"):
        default = registry.options(kind.package, kind.name)[option].default
        given = kind.hyperparameters.get(option, default)
        listed = [given] if isinstance(given, str) else given or ()
        check_known(f"{where}.kind.{option}", _METRIC, listed, scored)


def check_where(plan: Plan, filtered: Where, where: str) -> None:
    """Raise a UserError for a name that no catalogue has: it would never fit a row."""
    for key, wanted in filtered.wanted:
        catalogue = getattr(plan, f"{key}s", None)
        if isinstance(catalogue, dict):
            check_known(f"{where}.{key}", key, wanted, catalogue)

"""Checks of a plan as a whole, so that errors show before a job starts."""

import functools
from dataclasses import replace

from dmlbench import registry
from dmlbench.errors import UserError, unknown
from dmlbench.plan import needs, search_checks, view_rows, views
from dmlbench.plan.claims import FILE as CLAIMS
from dmlbench.plan.claims import read_claims
from dmlbench.plan.combinations import combinations
from dmlbench.plan.defaults import defaults
from dmlbench.plan.fitting import check_batch, check_transforms
from dmlbench.plan.plan import Plan
from dmlbench.plan.printed import fitting, read_numbers
from dmlbench.plan.rows import Row
from dmlbench.plan.studies import Figure, Table, Tournament
from dmlbench.plan.where import Where


def check_studies(plan: Plan) -> None:
    """Resolve every row and every view of the active studies.

    A study with an error moves from the plan's studies to its broken ones.

    Raises:
        UserError: an error of a method: one line that names file, key and value, and what is
            allowed.
    """
    _check_methods(plan)
    for study in list(plan.studies):
        try:
            _check_study(plan, study)
        except UserError as error:
            del plan.studies[study]
            plan.broken[study] = str(error)


def check_searches(plan: Plan) -> None:
    """Resolve every search; raises as `search_checks.check_search`."""
    for name in plan.searches:
        search_checks.check_search(plan, name)


def _check_methods(plan: Plan) -> None:
    """A sampling that no recipe has is the method's error, not that of a study or a search."""
    known = {sampling for recipe in plan.recipes.values() for sampling in recipe.sampling}
    for name, method in plan.methods.items():
        if method.sampling not in known:
            problem = unknown("sampling of a recipe", method.sampling, known)
            raise UserError(f"{plan.folder / 'methods.yaml'}: {name}.sampling: {problem}")


def _check_study(plan: Plan, study: str) -> None:
    """Resolve every row and every view of a study.

    Raises:
        UserError: one line that names file, key and value, and what is allowed.
    """
    _check_names(plan, study)
    _check_rows(plan, study)
    combinations(plan, study)
    _check_claims(plan, study)
    for name, view in views.views(plan, study).items():
        check_view(plan, study, view, f"{plan.file(study)}: {name}")


def _check_names(plan: Plan, study: str) -> None:
    description = plan.studies[study]
    for kind in ("measures", "experiments"):
        catalogue = getattr(plan, kind)
        for name in getattr(description, kind):
            if name not in catalogue:
                raise UserError(f"{plan.file(study)}: {kind}: {unknown(kind, name, catalogue)}")
    for name in description.embedding_maps:
        if name in description.figures:
            raise UserError(
                f"{plan.file(study)}: embedding_maps.{name}: is the name of a figure as well; "
                "allowed: a name of its own"
            )
    for name in description.answer:
        if name not in description.tables:
            problem = unknown("table of the study", name, description.tables)
            raise UserError(f"{plan.file(study)}: answer: {problem}")
    if not description.runs and not description.experiments:
        raise UserError(
            f"{plan.file(study)}: has neither runs nor experiments; allowed: at least 1"
        )


def _check_claims(plan: Plan, study: str) -> None:
    folder = plan.folder / "reference" / study
    if plan.studies[study].audit == study and (folder / CLAIMS).exists():
        read_claims(folder)


def _check_rows(plan: Plan, study: str) -> None:
    rows = plan.rows(study)
    for row in rows:
        plan.run(row)
    for row in {replace(row, seed=0): row for row in rows}.values():
        _check_row(plan, row)
    for recipe in {row.recipe for row in rows}:
        where = f"{plan.folder / 'recipes.yaml'}: {recipe}"
        for method in plan.recipes[recipe].methods:
            if method not in plan.methods:
                raise UserError(f"{where}.methods: {unknown('method', method, plan.methods)}")
        _check_overrides(plan, recipe, where)


def _check_row(plan: Plan, row: Row) -> None:
    spec = plan.run(row).spec
    where = f"{plan.folder / 'recipes.yaml'}: {row.recipe}, for row {row.label}"
    if spec.network.weights and spec.network.weights.file not in plan.weights:
        raise unknown("file of weights", spec.network.weights.file, plan.weights)
    try:
        values = spec.as_dict()
        if spec.epochs:
            check_batch(values["sampler"], spec.batch_size)
        frozen = {"frozen": values["network"]["frozen"] or []}
        check_transforms(values["transforms"] | frozen, spec.network.pixels)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _check_overrides(plan: Plan, recipe: str, where: str) -> None:
    for position, override in enumerate(plan.recipes[recipe].overrides):
        _check_where(plan, override.where, f"{where}.overrides.{position}.where")


def _check_where(plan: Plan, filtered: Where, where: str) -> None:
    """What is unknown would never fit a row."""
    for key, wanted in filtered.wanted:
        catalogue = getattr(plan, f"{key}s", None)
        if isinstance(catalogue, dict):
            for name in wanted:
                if name not in catalogue:
                    raise UserError(f"{where}.{key}: {unknown(key, name, catalogue)}")


def check_view(plan: Plan, study: str, view, where: str) -> None:
    rows = views.trained_rows(plan, study, view.where)
    printed = views.printed_files(plan, study, view)
    if not printed and not getattr(view, "experiments", None):
        _check_where(plan, view.where, f"{where}.where")
    alone = bool(printed) and not plan.studies[study].runs
    if not rows and not alone and not getattr(view, "experiments", None):
        count = len(plan.rows(study))
        raise UserError(f"{where}.where: fits none of the study's {count} rows")
    _check_parts(plan, study, view, where)
    _check_metrics(plan, view, rows, where)
    for search in views.searches_of(view):
        if search not in plan.searches:
            raise UserError(f"{where}.searches: {unknown('search', search, plan.searches)}")
    try:
        views.selection_of(plan, study, view)
    except UserError as error:
        raise UserError(f"{where}.where: {error}") from None
    if getattr(view, "selection", None):
        _check_own_best(plan, view, rows, where)
    for file in printed:
        if not file.is_file():
            kind, _, name = file.stem.rpartition("table_")
            there = file.parent.glob(f"{kind}table_*.csv")
            allowed = sorted(other.stem.removeprefix(f"{kind}table_") for other in there)
            raise UserError(f"{where}.kind.printed: {unknown('printed table', name, allowed)}")
    _check_needs(plan, study, view, where)


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
    try:
        needs.check_needs(rule, known(plan, study, view))
    except UserError as error:
        raise UserError(f"{where}.where: {error}") from None


def _check_experiments(plan: Plan, study: str, view: Table | Figure, where: str) -> None:
    """Metrics, methods and seed are the rows' or those that the view's experiments declare."""
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
            for name in [names] if isinstance(names, str) else names:
                if name not in allowed:
                    problem = unknown(f"{what[:-1]} of its rows and experiments", name, allowed)
                    raise UserError(f"{where}.kind: {problem}")
    seeds = sorted({seed for each in chosen for seed in each.seeds})
    if options.get("seed") is not None and options["seed"] not in seeds:
        raise UserError(
            f"{where}.kind.seed: {options['seed']}; allowed: {', '.join(map(str, seeds))}"
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
        found = set(plan.datasets[dataset].metrics) if scored else set()
        of_role = [each.metrics for each in measures if each.role == role and not together]
        return found.union(*of_role)

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
        for name in getattr(view, kind, []):
            if name not in made:
                raise UserError(f"{where}.{kind}: {unknown(f'{kind} of the study', name, made)}")


def _check_metrics(plan: Plan, view, rows: list[Row], where: str) -> None:
    """Tables and figures show metrics that some of their rows have; for rankings, all rows.

    The metrics of experiments are known only once they have run.
    """
    if not rows:
        return
    each = [set(plan.datasets[name].metrics) for name in {row.dataset: row for row in rows}]
    if isinstance(view, Tournament):
        _check_metric(view.metric, set.intersection(*each), f"{where}.metric")
    if not isinstance(view, Table | Figure) or view.experiments:
        return
    scored = set.union(*each).union(*(plan.measures[name].metrics for name in view.measures))
    kind = view.kind
    for option in registry.options_of_kind(kind.package, kind.name, "Metric", "RankingMetric"):
        default = registry.options(kind.package, kind.name)[option].default
        given = kind.hyperparameters.get(option, default)
        for metric in [given] if isinstance(given, str) else given or ():
            _check_metric(metric, scored, f"{where}.kind.{option}")


def _check_metric(metric: str, scored: set[str], where: str) -> None:
    if metric not in scored:
        raise UserError(f"{where}: {unknown('metric of its data sets', metric, sorted(scored))}")

"""The views of a study: which runs each shows, and the facts from which it is built."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dmlbench.errors import UserError, entry
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.catalogs.variants import title_of
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.once import once
from dmlbench.plan.specs import published_runs, searches
from dmlbench.plan.specs.combinations import combinations
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.studies.studies import EmbeddingMap, Figure, Table, Tournament
from dmlbench.plan.views import score_files

NOT_SELECTED = "none"
"""The selection rule of results without a chosen epoch."""

View = Tournament | Table | Figure | EmbeddingMap


def views(plan: Plan, study: str) -> dict[str, View]:
    """Every view of a study, by its key in the study's file."""
    description = plan.studies[study]
    kinds = ("tables", "figures", "embedding_maps")
    ranked = {"tournament": description.tournament} if description.tournament else {}
    return ranked | {
        f"{kind}.{name}": view
        for kind in kinds
        for name, view in getattr(description, kind).items()
    }


def view(plan: Plan, study: str, kind: str, name: str | None) -> View:
    """A view of a study.

    Args:
        kind: `tournament` (there is only one), `table`, `figure` or `map`.
        name: the id of a table, figure or map.

    Raises:
        UserError: the study has no such view.
    """
    description = plan.study(study)
    if kind == "tournament":
        if description.tournament is None:
            raise UserError(f"study {study} has no tournament")
        return description.tournament
    key = "embedding_maps" if kind == "map" else f"{kind}s"
    return entry(f"{kind} of study {study}", name, getattr(description, key))


def measures_of(view: View) -> list[str]:
    """The measures that a view also shows; only tables and figures can."""
    return view.measures if isinstance(view, Table | Figure) else []


def searches_of(view: View) -> list[str]:
    """The searches that a view shows instead of runs; only tables can."""
    return view.searches if isinstance(view, Table) else []


def facts(plan: Plan, study: str, kind: str, name: str | None) -> dict[str, Any]:
    """Plain values from which a view is built, including its options."""
    chosen = view(plan, study, kind, name)
    rows = [row for row, _ in score_files.shown(plan, study, chosen.where, measures_of(chosen))]
    elsewhere = dict.fromkeys(row["method"] for row in rows if "shifts" in row)
    common = {
        "methods": methods(plan, study, chosen.where),
        "selection": selection_of(plan, study, chosen),
        "titles": titles(plan, study)
        | {name: f"{plan.methods[name].title} {published_runs.ELSEWHERE}" for name in elsewhere},
        "rows": rows,
        "rehearsal": plan.configuration.rehearsal is not None,
    }
    if published := published_runs.note(plan, study):
        common["published"] = published
    match chosen:
        case Tournament():
            return common | {"metric": chosen.metric, "methods": ranked_methods(plan, study)}
        case EmbeddingMap():
            return common | {"title": chosen.title, "classes": chosen.classes}
        case Table() | Figure():
            own = {
                "id": f"{study}_{name}",
                "title": chosen.title,
                "kind": chosen.kind.name,
                "options": chosen.kind.hyperparameters,
                "where": chosen.where.model_dump(exclude_none=True),
                "baseline": baseline(plan, study),
                "years": years(plan, common["methods"] or plan.methods),
                "searches": {
                    search: searches.shown(plan, search) for search in searches_of(chosen)
                },
            }
            return common | own


def years(plan: Plan, methods: Iterable[str]) -> dict[str, int]:
    """Method -> the year in which its loss was published, if it has one."""
    return {name: plan.methods[name].year for name in methods if plan.methods[name].year}


def printed_files(plan: Plan, study: str, view: View) -> list[Path]:
    """The transcriptions of the printed tables that a view shows next to ours.

    Those of scores (`printed`) are files table_<id>.csv, those of hyper-parameters
    (`printed_settings`) settings_table_<id>.csv.
    """
    kind = getattr(view, "kind", None)
    options = kind.hyperparameters if kind else {}
    kinds = {"printed": "table", "printed_settings": "settings_table"}
    folder = plan.folder / "reference" / study
    return [
        folder / f"{stem}_{table}.csv"
        for option, stem in kinds.items()
        for table in options.get(option, [])
    ]


def trained_rows(plan: Plan, study: str, where: Where) -> list[Row]:
    """The rows that are trained for matching rows: these, and the folds of combined ones."""
    trained = dict.fromkeys(plan.rows(study, where))
    for row, together in (combinations(plan, study) if where.fold else {}).items():
        if where.holds(row):
            trained |= dict.fromkeys(together.folds)
    return list(trained)


def rows(plan: Plan, study: str, where: Where) -> list[Row]:
    """The rows that a view shows: runs, and folds that are combined if `where` names their form."""
    together = combinations(plan, study) if where.fold else {}
    return [*plan.rows(study, where), *(row for row in together if where.holds(row))]


def methods(plan: Plan, study: str, where: Where) -> list[str]:
    """The methods of the matching rows, in the study's order."""
    return list(dict.fromkeys(row.method for row in trained_rows(plan, study, where)))


def ranked_methods(plan: Plan, study: str) -> list[str]:
    """The methods of a study's tournament: those that train."""
    ranking = plan.studies[study].tournament
    names = methods(plan, study, ranking.where) if ranking else []
    return [name for name in names if plan.methods[name].loss]


@once
def baseline(plan: Plan, study: str) -> str | None:
    """The method of a study that trains nothing."""
    names = methods(plan, study, Where())
    return next((name for name in names if not plan.methods[name].loss), None)


def selection(plan: Plan, study: str, where: Where) -> str:
    """The selection rule of a view's runs.

    Raises:
        UserError: there are several; differently selected numbers must not be mixed.
    """
    runs = map(plan.run, trained_rows(plan, study, where))
    rules = sorted({run.spec.selection for run in runs})
    if len(rules) > 1:
        raise UserError(f"fits runs selected by {' and '.join(rules)}; allowed: one rule per view")
    return rules[0] if rules else NOT_SELECTED


def selection_of(plan: Plan, study: str, view: View) -> str:
    """The selection rule of what a view shows; raises as `selection`."""
    if searches_of(view):
        return "best_validation_epoch"
    own = selection(plan, study, view.where)
    return getattr(view, "selection", None) or own


@once
def titles(plan: Plan, study: str) -> dict[str, str]:
    """Display names of all entries of the catalogues, and of a study's variants and their parts."""
    catalogues = (plan.datasets, plan.networks, plan.methods, plan.recipes)
    named = {name: entry.title for catalogue in catalogues for name, entry in catalogue.items()}
    variants = plan.studies[study].variants
    listed = {row.variant: None for row in plan.rows(study) if row.variant}
    varied = listed | {part: None for variant in listed for part in variant.split(",")}
    return named | {variant: title_of(variant, variants) for variant in varied}

"""The views of a study: which runs each looks at, and the facts that it is built from."""

from pathlib import Path
from typing import Any

from dmlbench.errors import UserError, unknown
from dmlbench.plan import searches
from dmlbench.plan.plan import Plan
from dmlbench.plan.studies import EmbeddingMap, Figure, Table, Tournament, Where

View = Tournament | Table | Figure | EmbeddingMap


def views(plan: Plan, study: str) -> dict[str, View]:
    """Every view of a study, by the key that it stands under in the study's file."""
    description = plan.studies[study]
    rooms = ("tables", "figures", "embedding_maps")
    return {"tournament": description.tournament} | {
        f"{room}.{name}": view
        for room in rooms
        for name, view in getattr(description, room).items()
    }


def view(plan: Plan, study: str, kind: str, name: str | None) -> View:
    """A view of a study.

    Args:
        kind: `tournament` (of which there is one), `table`, `figure` or `map`.
        name: the id of a table, figure or map.

    Raises:
        UserError: the study has no such view.
    """
    if study not in plan.studies:
        raise unknown("study", study, plan.studies)
    description = plan.studies[study]
    if kind == "tournament":
        return description.tournament
    found = {
        "table": description.tables,
        "figure": description.figures,
        "map": description.embedding_maps,
    }[kind]
    if name not in found:
        raise unknown(f"{kind} of study {study}", name, found)
    return found[name]


def searches_of(view: View) -> list[str]:
    """The searches that a view shows in the place of runs; only tables can."""
    return view.searches if isinstance(view, Table) else []


def facts(plan: Plan, study: str, kind: str, name: str | None) -> dict[str, Any]:
    """Plain values that a view is built from, its own options among them."""
    chosen = view(plan, study, kind, name)
    common = {
        "methods": methods(plan, study, chosen.where),
        "selection": selection_of(plan, study, chosen),
        "titles": titles(plan),
    }
    match chosen:
        case Tournament():
            return common | {"metric": chosen.metric, "methods": ranked_methods(plan, study)}
        case EmbeddingMap():
            runs = [run.path for run in plan.runs(study, chosen.where)]
            own = {"runs": runs, "title": chosen.title, "classes": chosen.classes}
            return common | own
        case Table() | Figure():
            own = {
                "id": f"{study}_{name}",
                "title": chosen.title,
                "kind": chosen.kind.name,
                "options": chosen.kind.hyperparameters,
                "where": chosen.where.model_dump(exclude_none=True),
                "baseline": baseline(plan, study),
                "years": {
                    method: plan.methods[method].year
                    for method in common["methods"]
                    if plan.methods[method].year
                },
                "searches": {
                    search: searches.shown(plan, search) for search in searches_of(chosen)
                },
            }
            return common | own


def printed_files(plan: Plan, study: str, view: View) -> list[Path]:
    """The transcriptions of the printed tables that a view shows beside ours.

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


def methods(plan: Plan, study: str, where: Where) -> list[str]:
    """The methods of the runs that fit, in the study's order."""
    return list(dict.fromkeys(run.method for run in plan.runs(study, where)))


def ranked_methods(plan: Plan, study: str) -> list[str]:
    """The methods of a study's tournament: those that train."""
    names = methods(plan, study, plan.studies[study].tournament.where)
    return [name for name in names if plan.methods[name].loss]


def baseline(plan: Plan, study: str) -> str | None:
    """The method of a study that trains nothing."""
    names = methods(plan, study, Where())
    return next((name for name in names if not plan.methods[name].loss), None)


def selection(plan: Plan, study: str, where: Where) -> str:
    """The selection rule of a view's runs.

    Raises:
        UserError: there are several; numbers selected in different ways do not go side by side.
    """
    rules = sorted({plan.spec(run).selection for run in plan.runs(study, where)})
    if len(rules) > 1:
        raise UserError(f"fits runs selected by {' and '.join(rules)}; allowed: one rule a view")
    return rules[0]


def selection_of(plan: Plan, study: str, view: View) -> str:
    """The selection rule of what a view shows; raises as `selection`."""
    if searches_of(view):
        return "best_validation_epoch"
    return selection(plan, study, view.where)


def titles(plan: Plan) -> dict[str, str]:
    """Display names of everything in the catalogues."""
    catalogues = (plan.datasets, plan.networks, plan.methods, plan.recipes)
    return {name: entry.title for catalogue in catalogues for name, entry in catalogue.items()}

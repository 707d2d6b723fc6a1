"""Checks of the studies of a plan, so that errors show before a job starts."""

from dataclasses import replace

from dmlbench.errors import UserError, check_known, located, unknown
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.specs.combinations import combinations
from dmlbench.plan.specs.fitting import check_batch, check_transforms
from dmlbench.plan.specs.frozen import GIVEN, VECTORS
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.studies.claims import FILE as CLAIMS
from dmlbench.plan.studies.claims import read_claims
from dmlbench.plan.views import views
from dmlbench.plan.views.view_checks import check_view, check_where


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


def _check_methods(plan: Plan) -> None:
    """A sampling that no recipe has is the method's error, not that of a study or a search."""
    known = {sampling for recipe in plan.recipes.values() for sampling in recipe.sampling}
    for name, method in plan.methods.items():
        where = f"{plan.entries.file('methods', name)}: {name}.sampling"
        check_known(where, "sampling of a recipe", [method.sampling], known)


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
        names, catalogue = getattr(description, kind), getattr(plan, kind)
        check_known(f"{plan.file(study)}: {kind}", kind, names, catalogue)
    for name in description.embedding_maps:
        if name in description.figures:
            raise UserError(
                f"{plan.file(study)}: embedding_maps.{name}: is the name of a figure as well; "
                "allowed: a name of its own"
            )
    where = f"{plan.file(study)}: answer"
    check_known(where, "table of the study", description.answer, description.tables)
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
        where = f"{plan.entries.file('recipes', recipe)}: {recipe}"
        check_known(f"{where}.methods", "method", plan.recipes[recipe].methods, plan.methods)
        _check_overrides(plan, recipe, where)


def _check_row(plan: Plan, row: Row) -> None:
    spec = plan.run(row).spec
    where = f"{plan.entries.file('recipes', row.recipe)}: {row.recipe}, for row {row.label}"
    if spec.network.weights and spec.network.weights.file not in plan.weights:
        raise unknown("file of weights", spec.network.weights.file, plan.weights)
    _check_given(plan, row)
    with located(where):
        values = spec.as_dict()
        if spec.epochs:
            check_batch(values["sampler"], spec.batch_size)
        frozen = {"frozen": values["network"]["frozen"] or []}
        check_transforms(values["transforms"] | frozen, spec.network.pixels)


def _check_given(plan: Plan, row: Row) -> None:
    """Features that were computed elsewhere have no network here, and images have no others."""
    layout, network = plan.datasets[row.dataset].layout.name, plan.networks[row.network]
    if (layout == VECTORS) != (network.backbone.name == GIVEN):
        raise UserError(
            f"{plan.file(row.study)}: data set {row.dataset} with network {row.network}; allowed: "
            f"network {GIVEN} for the layout {VECTORS}, and for no other"
        )


def _check_overrides(plan: Plan, recipe: str, where: str) -> None:
    for position, override in enumerate(plan.recipes[recipe].overrides):
        check_where(plan, override.where, f"{where}.overrides.{position}.where")

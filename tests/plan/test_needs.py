"""The plan refuses the rows that a view's job would refuse, and no others.

The job is the oracle: each kind is called with a score for each row that the plan knows.
"""

import zlib

import numpy as np
import pandas as pd
import pytest
from dmlbench import plan, registry
from dmlbench.errors import UserError
from dmlbench.plan import Plan, needs, views
from dmlbench.plan.combinations import combinations
from dmlbench.plan.read import read_mapping
from dmlbench.plan.variants import Variant
from dmlbench.plan.view_checks import check_view, known
from dmlbench.plan.where import Where
from dmlbench.presentation.view_files import _build
from dmlbench.statistics.aggregation import SCHEMA
from project import CONFIG, STUDIES

OF_EXPERIMENTS = {
    "constants",
    "deviations_from_printed",
    "force_field",
    "gains_next_to_printed",
    "means_by_axis",
    "methods_by_axis",
    "metrics_by_axis",
    "point_spaces",
    "printed_derivatives",
}
"""Kinds that the studies use for experiments, whose results are not known to the plan."""
OF_SEARCHES = {"search_comparison", "search_optima", "search_outcomes"}
KINDS = [
    (package, kind)
    for package in ("tables", "figures")
    for kind in registry.available(f"presentation/{package}")
    if kind not in OF_EXPERIMENTS | OF_SEARCHES
]
OTHER = {"network": "vit_s16", "recipe": "other", "embedding_dim": 7, "variant": "other"}
"""A second value of a coordinate, which no study has."""


@pytest.fixture(scope="module")
def loaded() -> Plan:
    values = read_mapping(CONFIG / "config.yaml")
    return plan.reload(values | {"studies": STUDIES}, CONFIG)


def smallest(loaded, package, kind):
    """Study, name and view of a view of a kind, of trained networks, in the smallest study."""
    found = [
        (len(loaded.rows(study)), len(views.rows(loaded, study, view.where)), study, name, view)
        for study in STUDIES
        for name, view in getattr(loaded.studies[study], package).items()
        if view.kind.name == kind and not view.experiments and not views.searches_of(view)
    ]
    return min(found, key=lambda each: each[:2])[2:]


@pytest.mark.slow
@pytest.mark.parametrize(("package", "kind"), KINDS)
def test_the_plan_refuses_what_the_job_refuses(loaded, package, kind):
    study, name, view = smallest(loaded, package, kind)
    before = loaded.studies[study]
    verdicts = {}
    try:
        for change, changed in changes(before, view):
            own = {package: {name: changed.pop("view")}}
            loaded.studies[study] = before.model_copy(update=own | changed)
            forget_rows(loaded)
            verdicts[change] = verdict(loaded, package, study, name)
    finally:
        loaded.studies[study] = before
        forget_rows(loaded)
    assert verdicts["nothing"] == (None, None)
    # A view without rows is refused whatever its kind makes of it.
    verdicts = {change: both for change, both in verdicts.items() if "fits none" not in str(both)}
    differing = {
        change: both for change, both in verdicts.items() if bool(both[0]) != bool(both[1])
    }
    assert not differing


def forget_rows(loaded):
    for function in (Plan._rows, combinations):
        vars(loaded)["_once"].pop(function.__wrapped__, None)


def changes(study, view):
    """What is changed, and the changed view and study: dropped filters, second values."""
    yield "nothing", {"view": view}
    for key in Where.model_fields:
        if getattr(view.where, key) is not None:
            where = Where.model_validate(view.where.model_dump() | {key: None})
            yield f"no where.{key}", {"view": view.model_copy(update={"where": where})}
    for key, other in OTHER.items():
        wanted = getattr(view.where, key)
        wider = {key: wanted and [*wanted, other]}
        where = Where.model_validate(view.where.model_dump() | wider)
        runs = [grid.model_copy(update={key: [*getattr(grid, key), other]}) for grid in study.runs]
        variants = study.variants | {"other": Variant(set={"clip_value": 3.0})}
        changed = view.model_copy(update={"where": where})
        yield f"second {key}", {"view": changed, "runs": runs, "variants": variants}
    trained = [name for grid in study.runs for name in grid.method if name != "untrained"]
    where = Where.model_validate(view.where.model_dump() | {"method": trained[:1]})
    yield "one method", {"view": view.model_copy(update={"where": where})}


def verdict(loaded, package, study, name):
    """The errors of plan and job; None for none."""
    loaded.recipes["other"] = next(loaded.recipes[g.recipe[0]] for g in loaded.studies[study].runs)
    return (
        error(lambda: check_view(loaded, study, getattr(loaded.studies[study], package)[name], "")),
        error(lambda: job(loaded, package, study, name)),
    )


def error(function):
    try:
        function()
    except (UserError, KeyError, ValueError) as problem:
        return str(problem)
    return None


def job(loaded, package, study, name):
    """Build and call the kind."""
    view = getattr(loaded.studies[study], package)[name]
    facts = views.facts(loaded, study, package[:-1], name)
    files = {
        f"results/runs/{row['run']}/measures/one.npz": {
            f"{facts['selection']}/{array}": np.ones(4)
            for measure in view.measures
            for array in loaded.measures[measure].arrays
        }
        for row in facts["rows"]
        if view.measures
    }
    given = facts | {"queries": (), "arrays": files}
    built = _build(f"presentation/{package}", given, views.printed_files(loaded, study, view))
    return built(scores(loaded, study, view, facts["selection"]))


def scores(loaded, study, view, selection):
    """The long table: a number between 0.2 and 0.8 for each row, role, selection and metric."""
    available = known(loaded, study, view).metrics
    lines = []
    for row in views.rows(loaded, study, view.where):
        for role in ("train", "validation", "test"):
            for metric in sorted(available(row, role)):
                for rule in {selection, "last_epoch"}:
                    line = row.columns | {"run": "", "role": role, "metric": metric}
                    value = zlib.crc32(repr((line, rule)).encode()) % 600 / 1000 + 0.2
                    lines.append(line | {"selection": rule, "value": value})
    return pd.DataFrame(lines, columns=SCHEMA.names)


def test_every_rule_is_a_kinds():
    named = {
        registry.constant(f"presentation/{package}", kind, "NEEDS")
        for package in ("tables", "figures")
        for kind in registry.available(f"presentation/{package}")
    }
    rules = {
        name
        for name, each in vars(needs).items()
        if getattr(each, "__module__", "") == needs.__name__
    }
    assert named - {None} == rules


def test_two_networks_without_where_name_study_table_and_key(configured):
    table = {"title": "T", "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]}}
    configured.change("studies/mine", ["tables"], {"one": table})
    configured.load()
    configured.grid(network=["convnet3", "convnet4_tiny"])
    assert (
        "mine.yaml: tables.one.where: fits rows with several values of network (convnet3, "
        "convnet4_tiny); allowed: one"
    ) in configured.problem()


def test_a_name_of_where_that_no_row_could_have(configured):
    kind = {"name": "scores_by_method", "metrics": ["recall_at_1"]}
    table = {"title": "T", "where": {"method": ["triplet", "tripled"]}, "kind": kind}
    configured.change("studies/mine", ["tables"], {"one": table})
    said = "mine.yaml: tables.one.where.method: unknown method 'tripled'; did you mean 'triplet' "
    assert said in configured.problem()

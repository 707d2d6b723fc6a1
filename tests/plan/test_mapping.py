"""Mappings: every printed cell has a reason or its own place with a run."""

import csv
from collections import defaultdict

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.specs import combinations
from dmlbench.plan.studies.claims import fitting, read_claims
from dmlbench.plan.studies.mapping import Mapping, Rule, When, read_mapping, table_id
from project import CONFIG, every_study

REFERENCE = CONFIG / "reference"
STUDIES = ["psomas2020", "roth2020", "can2019", "karaman2021", "musgrave2020"]
EXISTING = [study for study in STUDIES if (CONFIG / "studies" / f"{study}.yaml").exists()]


def cells(study):
    for path in sorted((REFERENCE / study).glob("table_*.csv")):
        with path.open(newline="") as file:
            for cell in csv.DictReader(file):
                yield cell | {"table": table_id(cell["table"])}


def rows(study):
    """The rows of a study in the plan, those of combined folds too, without recipe and seed."""
    loaded = every_study()
    found = {
        (r.dataset, r.network, r.embedding_dim, r.method, r.variant, r.split, _fold(r.fold))
        for r in loaded.rows(study)
    }
    return found | {
        (r.dataset, r.network, r.embedding_dim, r.method, r.variant, r.split, _fold(r.fold))
        for r in combinations.combinations(loaded, study)
    }


def _fold(fold):
    return "" if fold is None else str(fold)


@pytest.mark.parametrize("study", STUDIES)
def test_every_printed_cell_has_a_place_or_a_reason(study):
    mapping = read_mapping(REFERENCE / study)
    for cell in cells(study):
        if not mapping.why_unplaced(cell):
            mapping.place(cell)


@pytest.mark.parametrize("study", STUDIES)
def test_only_repeated_tables_share_places(study):
    mapping = read_mapping(REFERENCE / study)
    tables = defaultdict(list)
    for cell in cells(study):
        if not mapping.why_unplaced(cell):
            tables[mapping.place(cell)].append(cell["table"])
    for place, found in tables.items():
        for position, table in enumerate(found):
            for other in found[:position]:
                assert other in mapping.repeats.get(table, []) or table in mapping.repeats.get(
                    other, []
                ), (place, other, table)
    shared = {(one, other) for found in tables.values() for one in found for other in found}
    declared = {(one, other) for one, others in mapping.repeats.items() for other in others}
    assert declared <= shared


def unprinted(study):
    """The cells that claims compare and no table prints."""
    if study in EXISTING:
        for claim in read_claims(REFERENCE / study).claims:
            for side in (claim.arm, claim.control_filter()) if claim.unprinted else ():
                yield from (cell._asdict() for cell in fitting(claim, side, []))


@pytest.mark.parametrize("study", STUDIES)
def test_no_line_of_a_mapping_is_idle(study):
    mapping = read_mapping(REFERENCE / study)
    printed = [*cells(study), *unprinted(study)]
    parts = {part for cell in printed for part in cell["variant"].split(";")}
    assert set(mapping.parts) <= parts
    for entry in (*mapping.rules, *mapping.unplaced, *mapping.means, *mapping.selections):
        assert any(entry.when.match(cell) is not None for cell in printed), entry


@pytest.mark.parametrize("study", EXISTING)
def test_every_place_is_a_row_of_the_study(study):
    mapping, there = read_mapping(REFERENCE / study), rows(study)
    folds = {row[:-1] for row in there if row[-1].isdecimal()}
    missing = set()
    for cell in cells(study):
        if mapping.why_unplaced(cell):
            continue
        place = mapping.place(cell)
        row = place[:7]
        found = row[:-1] in folds if place.fold in ("mean", "best") else row in there
        if not found and not place.experiment:
            missing.add((cell["table"], *row))
    assert not missing


CELL = {
    "table": "4_06",
    "panel": "1",
    "dataset": "cub200",
    "network": "resnet18",
    "embedding_dim": "128",
    "method": "moving",
    "variant": "rho=0.3;m=40;no_hinge",
    "split": "val",
    "metric": "map_at_r",
}


def place(*rules, **more):
    return checked({"rules": [*rules], **more}, Mapping, where="mapping.yaml").place(CELL)


def test_what_both_call_alike_needs_no_rule():
    found = place({"then": {"split": "half"}}, parts={"no_hinge": "hinge=no", "m=40": ""})
    assert found._asdict() == {
        "dataset": "cub200",
        "network": "resnet18",
        "embedding_dim": 128,
        "method": "moving",
        "variant": "rho=0.3,hinge=no",
        "split": "half",
        "fold": "",
        "role": "validation",
        "metric": "map_at_r",
        "by": "",
        "experiment": "",
    }


def test_names_carry_over_and_later_rules_have_the_last_word():
    found = place(
        {"then": {"split": "half", "fold": "0"}},
        {"when": {"table": "4_05"}, "then": {"split": "never"}},
        {
            "when": {"method": ["ratio", "mov{rest}"], "variant": "rho={rho};m={m};no_hinge"},
            "then": {"variant": "{rest}={rho}", "fold": "{m-1}", "method": "{method}_{metric}"},
        },
    )
    assert (found.split, found.fold) == ("half", "39")
    assert (found.variant, found.method) == ("ing=0.3", "moving_map_at_r")


def test_a_name_matches_no_semicolon():
    assert When(variant="rho={rho}").match(CELL) is None
    assert When(variant="rho={rho};{rest}").match(CELL) is None
    assert When(variant="rho={rho};m={m};{rest}").match(CELL) == {
        "rho": "0.3",
        "m": "40",
        "rest": "no_hinge",
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rules": [{"then": {"splitt": "half"}}]}, "rules.0.then.splitt: unknown key"),
        ({"rules": [{"then": {"fold": "{k}"}}]}, r"rules.0: .*\{k\} has no value"),
        ({}, "rules: is missing"),
        ({"rules": [], "means": [{"runs": 0, "spread": "half_interval_95"}]}, "means.0.runs"),
    ],
)
def test_mistakes_are_one_line(values, message):
    with pytest.raises(UserError, match=message) as caught:
        checked(values, Mapping, where="mapping.yaml")
    assert "\n" not in str(caught.value)


def test_a_place_that_lacks_something_names_the_cell():
    with pytest.raises(UserError, match=r"4_06: cub200 resnet18 128 moving .* has no split"):
        place()
    with pytest.raises(UserError, match="embedding_dim 'small'; allowed: a number"):
        place({"then": {"split": "half", "embedding_dim": "small"}})


def test_a_rule_is_read_from_plain_values():
    assert Rule.model_validate({"then": {"embedding_dim": 128}}).then.embedding_dim == "128"

"""Named queries: kinds of tables that are another kind with other defaults, in YAML alone."""

import pytest
from dmlbench import part_files, registry
from dmlbench.plan.catalogs.choices import TableKind
from dmlbench.plan.catalogs.naming import complete
from kind_examples import FACTS, scores
from kinds import build

TABLES = "presentation/tables"
FORMER_KINDS = {
    "scores_next_to_printed": {"metrics": ["nmi"], "printed": ["06"], "panel": "network"},
    "scores_by_method": {"metrics": ["nmi"]},
    "scores_by_split": {"metric": "nmi", "printed": ["13"], "labels": {"a": "b"}},
    "gains_next_to_printed": {"metrics": ["nmi"], "over": "triplet", "printed": ["4_01"]},
    "deviations_from_printed": {"metrics": ["nmi"], "printed": ["4_01"], "role": "train"},
}
"""Kinds that had a file of their own, with options that studies give them."""


@pytest.mark.parametrize("kind", FORMER_KINDS)
def test_a_former_kind_is_a_query_and_plans_as_it_is_written(kind):
    chosen = TableKind(name=kind, **FORMER_KINDS[kind])
    assert (chosen.name, chosen.hyperparameters) == (kind, FORMER_KINDS[kind])
    assert part_files.part_of(TABLES, kind) == "scores"
    assert complete(chosen).items() >= FORMER_KINDS[kind].items()
    with pytest.raises(ValueError, match=f"unknown hyper-parameter of {TABLES}/{kind} 'metrix'"):
        TableKind(name=kind, metrix="nmi")


def test_an_option_with_one_value_is_one_of_a_list():
    declared = registry.options(TABLES, "scores_by_split")
    assert (declared["metric"].default, declared["metric"].required) == ("recall_at_1", False)
    assert "metrics" not in declared
    with pytest.raises(ValueError, match="metric is 'nothing'; allowed: a metric"):
        TableKind(name="scores_by_split", metric="nothing")
    of_one = scores("nmi", role=("validation", "test"))
    table = build("tables", "scores_by_split", metric="nmi")(of_one[of_one.method == "triplet"], {})
    assert [column.name for column in table.columns] == ["validation_nmi", "test_nmi"]


def test_a_query_changes_defaults_which_a_study_may_change_again():
    assert complete(TableKind(name="scores_by_method", metrics=["nmi"]))["panel"] is None
    of_two = scores("nmi", network=("convnet", "resnet50"))
    kind = build("tables", "scores_by_method", metrics=["nmi"], panel="network", **FACTS)
    table = kind(of_two, {"resnet50": "ResNet"})
    assert list(dict.fromkeys(row.panel for row in table.rows)) == ["(a) convnet", "(b) ResNet"]


def test_a_new_table_of_such_marks_is_a_choice_of_options():
    """One row per network, a group of columns per method: no kind of its own has it."""
    shown = {"row": ["network"], "column": "method", "panel": None, "row_header": "Network"}
    of_two = scores("nmi", network=("convnet", "resnet50"))
    chosen = TableKind(name="scores", metrics=["nmi"], **shown)
    table = build("tables", chosen.name, **FACTS, **chosen.hyperparameters)(
        of_two, {"resnet50": "ResNet", "triplet": "Triplet"}
    )
    assert table.to_csv().splitlines()[0] == (
        "Network,contrastive_nmi,contrastive_nmi_std,triplet_nmi,triplet_nmi_std,"
        "margin_nmi,margin_nmi_std"
    )
    assert [row.label for row in table.rows] == ["convnet", "ResNet"]
    assert [text for text, _ in table.texts()[1]] == [
        "33.37 ± 1.41",
        "43.37 ± 1.41",
        "53.37 ± 1.41",
    ]
    assert [column.header for column in table.columns][1] == "Triplet, NMI"

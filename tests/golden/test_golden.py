"""What every part computes is what it computed when its VERSION was recorded."""

import json

import golden_options
import golden_parts
import golden_record
import golden_trainings
import pytest
from dmlbench import part_files, registry
from dmlbench.plan.catalogs.recipes import Training
from dmlbench.plan.specs.spec import Spec, SpecNetwork
from golden_record import RECORD, alike, complaint

RECORDED = json.loads(RECORD.read_text())
ENTRIES = golden_record.entries()


@pytest.mark.parametrize("entry", ENTRIES)
def test_values_change_only_with_a_version(entry):
    found = complaint(entry, RECORDED.get(entry), golden_record.computed(entry))
    assert found is None, found


def test_nothing_else_is_recorded():
    assert RECORDED.keys() == ENTRIES.keys(), "make record-training"


def test_every_part_with_a_version_is_computed():
    versioned = {
        "/".join(file.parent.relative_to(part_files._LIBRARY).parts)
        for file in part_files._LIBRARY.rglob("[a-z]*.py")
        if "\nVERSION = " in file.read_text()
    }
    # These have the versions of what all runs share.
    assert versioned - {"training", "data", "search"} <= golden_parts.PACKAGES.keys()


def test_every_field_of_a_training_is_changed_once():
    fields = {*Spec.model_fields} - {"network", "optimizer"}
    fields |= {f"network.{field}" for field in SpecNetwork.model_fields}
    optimizer = Training.model_fields["optimizer"].annotation
    fields |= {f"optimizer.{field}" for field in optimizer.model_fields}
    changed = {key.partition(":")[0] for key in golden_trainings.CHANGES} - {""}
    assert changed == fields - golden_trainings.WITHOUT
    assert fields >= golden_trainings.WITHOUT


def test_no_option_is_given_to_a_part_that_lacks_it():
    for key in golden_options.GIVEN | golden_options.OTHER:
        part, _, option = key.partition(".")
        options = registry.options(*part.rsplit("/", 1))
        given = [option] if option else golden_options.GIVEN[part]
        assert {*given} <= options.keys(), key


BEFORE = {"versions": {"losses/margin": 1, "training": 1}, "values": {"odd": [1.0, [2.0, 0.0]]}}


@pytest.mark.parametrize(
    ("versions", "values", "says"),
    [
        ({}, {}, None),
        ({}, {"odd": [1.0001, [2.0001, 1e-5]]}, None),
        ({}, {"odd": [1.01, [2.0, 0.0]]}, "values changed (odd): raise VERSION in "
         "dmlbench/losses/margin.py or dmlbench/training/version.py; then: make record-training"),
        ({}, {"odd": [1.0, [2.0, 0.01]]}, "values changed (odd)"),
        ({}, {"odd": [1.0, [2.0]]}, "values changed (odd)"),
        ({}, {"odd": [float("nan"), [2.0, 0.0]]}, "values changed (odd)"),
        ({}, {"alpha=2: odd": [1.0]}, "other options than recorded: make record-training"),
        ({"losses/margin": 2}, {"odd": [3.0]}, "has another VERSION than recorded"),
        ({"training": 2}, {}, "another VERSION than recorded: make record-training"),
    ],
)  # fmt: skip
def test_the_complaint_says_what_to_do(versions, values, says):
    now = {"versions": BEFORE["versions"] | versions, "values": BEFORE["values"] | values}
    found = complaint("losses/margin", BEFORE, now)
    assert found is None if says is None else says in found
    assert complaint("losses/margin", None, now) == (
        "losses/margin is not recorded: make record-training"
    )


@pytest.mark.parametrize(
    ("recorded", "now", "equal"),
    [
        (["train", 3, None, True], ["train", 3, None, True], True),
        (["train"], ["test"], False),
        ([3], [4], False),
        ([100_000], [100_001], False),
        ([3], [3.0], False),
        ([0.5], [None], False),
        ([1e3, 1e-3], [1e3, 9e-3], True),
        ([[1e3], [1e-3]], [[1e3], [9e-3]], False),
        ([float("inf")], [float("inf")], True),
        ([float("nan")], [float("nan")], True),
        ([1.0], ["1.0"], False),
        ([[1.0]], [1.0], False),
    ],
)
def test_floats_may_differ_by_rounding_and_nothing_else(recorded, now, equal):
    assert alike(recorded, now) is equal


def test_what_changed_without_a_version_is_not_recorded(tmp_path, monkeypatch):
    record = tmp_path / "values.json"
    entries = {
        "losses/margin": ({"losses/margin": 1}, lambda: {"odd": [1.0]}),
        "losses/triplet": ({"losses/triplet": 1}, lambda: {"odd": [1.0]}),
    }
    monkeypatch.setattr(golden_record, "RECORD", record)
    monkeypatch.setattr(golden_record, "entries", lambda: entries)
    with pytest.raises(SystemExit) as first:
        golden_record.main()
    assert first.value.code is None
    entries["losses/margin"] = ({"losses/margin": 1}, lambda: {"odd": [2.0]})
    entries["losses/triplet"] = ({"losses/triplet": 2}, lambda: {"odd": [2.0]})
    with pytest.raises(SystemExit, match=r"losses/margin: values changed \(odd\)"):
        golden_record.main()
    found = json.loads(record.read_text())
    golden_record.add_another_cpu()
    both = json.loads(record.read_text())["losses/margin"]
    assert both == found["losses/margin"] | {"another_cpu": {"odd": [2.0]}}
    assert complaint("losses/margin", both, both | {"values": {"odd": [2.0]}}) is None
    assert complaint("losses/margin", both, both | {"values": {"odd": [3.0]}})
    assert found["losses/margin"] == {"versions": {"losses/margin": 1}, "values": {"odd": [1.0]}}
    assert found["losses/triplet"]["values"] == {"odd": [2.0]}

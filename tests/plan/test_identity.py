"""A run's identity: what changes a result changes its folder, and nothing else does."""

import re

import pytest
from dmlbench import registry
from dmlbench.plan import Spec
from dmlbench.plan.catalogs.naming import digest_of, slug
from dmlbench.plan.specs.run import FOLDER
from hypothesis import given
from hypothesis import strategies as st
from project import rehearse


@pytest.fixture
def on_archives(configured):
    """The study on a data set of archives."""
    configured.grid(dataset="omniglot", split="official", network="convnet4", recipe="omniglot")
    return configured


@pytest.mark.parametrize(
    ("file", "keys", "value"),
    [
        ("recipes", ["glyphs", "optimizer", "learning_rate"], 0.5),
        ("recipes", ["glyphs", "methods", "contrastive"], {"loss": {"margin": 0.123}}),
        ("recipes", ["glyphs", "sampling", "random"], "spc"),
        ("recipes", ["glyphs", "sampling", "balanced"], "spc"),
        ("networks", ["convnet3", "backbone", "widths"], [16, 32]),
        ("networks", ["convnet3", "mean"], [0.4]),
        ("datasets", ["glyphs", "generator", "seed"], 1),
        ("datasets", ["glyphs", "layout"], "omniglot"),
        ("datasets", ["glyphs", "splits", "half"], {"name": "fixed", "validation": 0.2}),
    ],
)
def test_an_edit_gives_another_folder_and_the_old_value_the_old_one(configured, file, keys, value):
    before, file_before = configured.folders(), configured.read(file)
    configured.change(file, keys, value)
    after = configured.folders()
    assert before.keys() == after.keys()
    assert before != after
    configured.write(file, file_before)
    assert configured.folders() == before


@pytest.mark.parametrize(
    ("file", "keys", "value"),
    [
        ("datasets", ["glyphs", "images"], 3999),
        ("datasets", ["glyphs", "classes"], None),
        ("datasets", ["glyphs", "title"], "Drawn"),
        ("datasets", ["glyphs", "metrics"], ["recall_at_1"]),
        ("datasets", ["glyphs", "splits", "another"], "fixed"),
        ("networks", ["convnet3", "title"], "Small"),
        ("networks", ["convnet3", "threads"], 7),
        ("methods", ["contrastive", "title"], "Pairs"),
        ("methods", ["contrastive", "year"], 1999),
        ("recipes", ["glyphs", "title"], "Short"),
        ("studies/mine", ["title"], "Another"),
        # The value is the option's default, given or not.
        ("methods", ["contrastive", "loss"], {"name": "contrastive"}),
        ("datasets", ["glyphs", "layout"], {"name": "class_folders"}),
    ],
)
def test_what_changes_no_result_changes_no_folder(configured, file, keys, value):
    before = configured.folders()
    configured.change(file, keys, value)
    assert configured.folders() == before


ARCHIVE = ["omniglot", "archives", "images_background.zip"]


@pytest.mark.parametrize(
    ("keys", "value", "another"),
    [
        ([*ARCHIVE, "sha256"], "0" * 64, True),
        ([*ARCHIVE, "urls"], ["https://example.org/a.zip"], False),
        ([*ARCHIVE, "mirror_sha256"], ["1" * 64], False),
        ([*ARCHIVE, "note"], "Ask.", False),
        (["omniglot", "layout"], "class_folders", True),
        (["omniglot", "images"], 32_459, False),
    ],
)
def test_archives_are_known_by_their_content(on_archives, keys, value, another):
    before, data = on_archives.folders(), on_archives.load().data("omniglot").folder
    on_archives.change("datasets", keys, value)
    after = on_archives.folders()
    assert [before[label] != after[label] for label in before] == [another] * len(before)
    assert (on_archives.load().data("omniglot").folder != data) == another


def test_an_alternative_holds_the_same_images(configured):
    configured.grid(dataset="cars196", network="resnet50")
    chosen = {"data": {"alternatives": {"cars196": "car_ims"}}}
    assert configured.folders(**chosen) == configured.folders()


def test_equal_rows_of_two_studies_are_one_run(configured):
    configured.write("studies/yours", configured.read("studies/mine") | {"title": "Another"})
    both = configured.load("mine", "yours")
    mine, yours = ([both.run(row) for row in both.rows(study)] for study in ("mine", "yours"))
    assert mine == yours
    assert both.runs() == both.runs("mine") == both.runs("yours")
    assert not any("mine" in run.folder or "yours" in run.folder for run in mine)


def test_a_variant_that_falls_on_the_default_is_the_run_without_it(configured):
    margin = configured.load().spec(configured.load().rows("mine")[2]).loss.hyperparameters
    axis = {"place": "loss.margin", "values": [margin["margin"], 0.9]}
    configured.change("studies/mine", ["variants"], {"m": axis})
    configured.grid(method="contrastive", embedding_dim=8, seed=0, variant=["base", "m"])
    folders = configured.folders()
    assert len(folders) == 3
    assert len(set(folders.values())) == 2


def test_recipes_that_say_the_same_are_one_run(configured):
    configured.change("recipes", ["again"], {"title": "Again", "base": "glyphs"})
    configured.grid(recipe=["glyphs", "again"])
    loaded = configured.load()
    assert len(loaded.rows("mine")) == 2 * len(loaded.runs("mine"))


def test_what_is_not_trained_has_no_objective_and_no_epochs(configured):
    configured.grid(method="untrained")
    spec = configured.load().runs("mine")[0].spec
    assert (spec.loss, spec.miner, spec.regularizers, spec.epochs) == (None, None, [], 0)


@pytest.mark.slow
def test_a_rehearsal_has_few_runs():
    loaded = rehearse("psomas2020")
    assert len(loaded.rows("psomas2020")) > 400
    assert len(loaded.runs("psomas2020")) < 60


ALL = ("untrained", "contrastive", "triplet")


@pytest.mark.parametrize(
    ("package", "name", "methods"),
    [
        ("losses", "contrastive", ("contrastive",)),
        ("losses", "triplet", ("triplet",)),
        ("losses", "margin", ()),
        ("networks/backbones", "convnet", ALL),
        ("networks/backbones", "resnet50", ()),
        ("data/splits", "half", ALL),
        ("data/splits", "half4fold", ()),
        ("data/layouts", "class_folders", ALL),
        ("data/layouts", "cub200", ()),
        ("data/generators", "glyphs", ALL),
    ],
)
def test_the_version_of_a_part_is_that_of_the_runs_that_name_it(
    configured, monkeypatch, package, name, methods
):
    before, real = configured.folders(), registry.version
    assert name in registry.available(package)
    monkeypatch.setattr(
        registry, "version", lambda *part: 99 if part == (package, name) else real(*part)
    )
    after = configured.folders()
    changed = {label for label in before if before[label] != after[label]}
    assert changed == {label for label in before if label.split("/")[3] in methods}
    monkeypatch.undo()
    assert configured.folders() == before


def test_a_split_rule_with_a_raised_version_has_another_file(configured, monkeypatch):
    real = registry.version
    monkeypatch.setattr(
        registry, "version", lambda *part: 2 if part == ("data/splits", "half") else real(*part)
    )
    loaded = configured.load()
    assert {slug(run.spec.split) for run in loaded.runs()} == {"half-v2"}
    assert {run.folder.split("/")[4] for run in loaded.runs()} == {"half-v2"}
    assert loaded.split_rule("half-v2").name == "half"
    monkeypatch.undo()
    assert {slug(run.spec.split) for run in configured.load().runs()} == {"half"}


@pytest.mark.parametrize("version", ["TRAINING", "DATA"])
def test_versions_of_training_and_of_data_are_those_of_all_runs(configured, monkeypatch, version):
    before = configured.folders()
    monkeypatch.setattr(f"dmlbench.plan.specs.versions.{version}", 99)
    after = configured.folders()
    assert not set(before.values()) & set(after.values())


def test_a_field_that_is_added_later_leaves_digests_as_they_are(configured):
    class Later(Spec):
        """A spec of a later version, with a new field whose default is the earlier behavior."""

        accumulate: int = 1

    for run in configured.load().runs("mine"):
        later = Later.model_validate(run.spec.as_dict())
        assert later.digest == run.spec.digest
        other = later.model_copy(update={"accumulate": 2})
        assert other.digest != run.spec.digest


def test_a_spec_read_again_is_known_by_the_same_digest(configured):
    for run in configured.load().runs("mine"):
        assert Spec.model_validate(run.spec.as_dict()).digest == run.spec.digest


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), PLAIN, max_size=4))
def test_the_order_of_keys_is_no_part_of_a_digest(values):
    assert digest_of(values, 16) == digest_of(dict(reversed(values.items())), 16)


def test_folders_are_what_rules_take_for_folders(configured):
    loaded = configured.load()
    for run in loaded.runs():
        assert re.fullmatch(FOLDER, run.folder)
        assert run.folder.startswith(f"glyphs/convnet/d{run.spec.embedding_dim}/")

"""A result depends on the versions of the parts that its spec names, and of no other."""

import pytest
from dmlbench import registry
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.specs.versions import data_versions, versions

SPEC = {
    "dataset": "glyphs",
    "network": {
        "backbone": {"name": "convnet", "widths": [8]},
        "pooling": "average",
        "pixels": 16,
        "mode": "gray",
        "mean": [0.5],
        "std": [0.5],
    },
    "embedding_dim": 8,
    "epochs": 1,
    "batch_size": 8,
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "loss": {"name": "margin"},
    "miner": {"name": "distance_weighted_pairs"},
    "regularizers": [{"name": "embedding_l2"}],
    "sampler": {"name": "spc"},
    "transforms": {
        "train": [{"name": "random_crop", "size": 12}],
        "test": [{"name": "center_crop", "size": 12}],
    },
    "selection": "last_epoch",
    "split": "half",
    "fold": None,
    "seed": 0,
}
NAMED = {
    "training",
    "losses/margin",
    "miners/distance_weighted_pairs",
    "regularizers/embedding_l2",
    "samplers/spc",
    "transforms/random_crop",
    "transforms/center_crop",
    "backbones/convnet",
}


def test_a_spec_and_its_plain_values_have_the_same_versions():
    spec = Spec(**SPEC)
    assert set(versions(spec)) == NAMED | {"splits/half"}
    assert versions(spec) == versions(spec.as_dict())


def test_a_rule_counts_where_the_spec_names_one():
    assert set(versions(SPEC | {"split": {"name": "fixed", "validation": 0.2}})) == {
        *NAMED,
        "splits/fixed",
    }


def test_what_is_not_there_has_no_version():
    untrained = SPEC | {"loss": None, "miner": None, "regularizers": []}
    assert set(versions(untrained)) == {
        name for name in NAMED if not name.startswith(("losses", "miners", "regularizers"))
    }


def test_a_raised_version_shows_where_the_part_is_named(monkeypatch):
    def raised(package, name):
        return 2 if (package, name) == ("losses", "margin") else 1

    monkeypatch.setattr(registry, "version", raised)
    assert versions(SPEC)["losses/margin"] == 2
    assert versions(SPEC | {"loss": {"name": "triplet"}})["losses/triplet"] == 1


@pytest.mark.parametrize("plain", [True, False])
def test_versions_of_a_data_set(plain):
    entry = {
        "title": "Drawn",
        "generator": {"name": "glyphs", "size": 16},
        "layout": {"name": "class_folders"},
        "splits": {"half": "half", "fixed-80": {"name": "fixed", "validation": 0.2}},
        "metrics": ["recall_at_1"],
    }
    dataset = entry if plain else Dataset(**entry)
    named = {"data", "layouts/class_folders", "generators/glyphs"}
    assert set(data_versions(dataset)) == named

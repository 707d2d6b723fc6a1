"""Weights are part of a run's identity: another file is another run, another address is not."""

import shutil
from pathlib import Path

import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["mine"]}
STUDY = {
    "title": "A study",
    "question": "Which?",
    "description": "Of nothing.",
    "runs": [
        {
            "dataset": "glyphs",
            "network": ["convnet3", "resnet18"],
            "embedding_dim": 8,
            "method": "contrastive",
            "recipe": "glyphs",
            "split": "half",
            "seed": 0,
        }
    ],
    "tournament": {},
}


@pytest.fixture
def folder(tmp_path):
    """A copy of the catalogues with one study, `mine`."""
    copy = tmp_path / "config"
    shutil.copytree(REPOSITORY / "config", copy)
    (copy / "studies" / "mine.yaml").write_text(yaml.safe_dump(STUDY))
    # It has no search, and to check those of all studies would take most of the time.
    (copy / "searches.yaml").write_text("{}")
    return copy


def with_weights(folder, **changes):
    """The run of ResNet-18, after a change of its weights."""
    path = folder / "networks.yaml"
    networks = yaml.safe_load(path.read_text())
    networks["resnet18"]["weights"] |= changes
    path.write_text(yaml.safe_dump(networks))
    return plan.load(CONFIGURATION, folder).runs("mine")[1]


def test_file_and_hash_are_in_the_spec_and_addresses_are_not(folder):
    run = with_weights(folder)
    assert run.spec.as_dict()["network"]["weights"] == {
        "file": "resnet18-f37072fd.pth",
        "sha256": "f37072fd",
    }
    assert with_weights(folder, urls=[], bytes=5) == run
    assert with_weights(folder, sha256="f37072fe").folder != run.folder


def test_a_network_without_weights_has_none(folder):
    loaded = plan.load(CONFIGURATION, folder)
    assert loaded.runs("mine")[0].spec.network.weights is None
    assert "resnet18-f37072fd.pth" in loaded.weights


def test_an_override_may_drop_weights_but_not_invent_them(folder):
    path = folder / "recipes.yaml"
    before = path.read_text()

    def override(weights):
        recipes = yaml.safe_load(before)
        changed = {"where": {"network": "resnet18"}, "set": {"network": {"weights": weights}}}
        recipes["glyphs"]["overrides"].append(changed)
        path.write_text(yaml.safe_dump(recipes))
        return plan.load(CONFIGURATION, folder)

    loaded = override(None)
    assert loaded.runs("mine")[1].spec.network.weights is None
    with pytest.raises(UserError, match=r"unknown file of weights 'mine\.pth'"):
        override({"file": "mine.pth", "sha256": "0" * 8})

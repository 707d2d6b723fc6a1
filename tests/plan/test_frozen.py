"""The runs of a frozen network share its features, and nothing that acts on images is in them."""

import copy

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.graph.inputs import Inputs
from dmlbench.plan.specs.frozen import features_name, row_with

FROZEN = {"frozen": [{"name": "center_crop", "size": 28}]}


@pytest.fixture
def frozen(configured):
    """The study, with its network frozen."""
    configured.edit("networks", lambda networks: networks["convnet3"].update(FROZEN))
    return configured


def names(loaded):
    return {features_name(loaded.spec(row)) for row in loaded.rows("mine")}


def test_all_losses_sizes_and_seeds_share_features(frozen):
    (name,) = names(frozen.load())
    frozen.edit(
        "recipes",
        lambda recipes: recipes["glyphs"].update(
            warmup_epochs=1, frozen_batchnorm="both", transforms={"train": ["random_affine"]}
        ),
    )
    loaded = frozen.load()
    assert names(loaded) == {name}
    spec = loaded.spec(loaded.rows("mine")[-1])
    assert (spec.transforms.train, spec.warmup_epochs, spec.frozen_batchnorm) == ([], 0, "none")


@pytest.mark.parametrize(
    "changes",
    [
        {"frozen": [{"name": "center_crop", "size": 26}]},
        {"pooling": "maximum"},
        {"pixels": 32},
        {"backbone": {"name": "convnet", "widths": [16, 32, 65]}},
        {"mean": [0.4]},
    ],
)
def test_what_changes_features_changes_their_name(frozen, changes):
    before = names(frozen.load())
    frozen.edit("networks", lambda networks: networks["convnet3"].update(changes))
    assert not before & names(frozen.load())


def test_a_training_takes_features_instead_of_pixels(frozen, tmp_path):
    loaded = frozen.load()
    inputs = Inputs(RunIndex(loaded, tmp_path / "index.json", fresh=True))
    (name,), data = names(loaded), loaded.data("glyphs").folder
    for run in loaded.runs("mine"):
        files = inputs.train(run.folder)
        assert files.keys() == {"index", "split", "features"}
        assert inputs.embed(run.folder).keys() == {*files, "spec", "model", "last"}
        assert files["features"] == f"<results>/data/{data}/features-{name}.safetensors"
    assert inputs.features(data, name).keys() == {"pixels", "pixel_table"}
    with pytest.raises(UserError, match=rf"features {name}x of {data}: no active study"):
        row_with(loaded, data, f"{name}x")


def test_heads_have_one_thread_and_images_those_of_the_backbone(configured):
    configured.edit("networks", lambda networks: networks["convnet3"].update(threads=3))
    loaded = configured.load()
    assert {loaded.threads(run.spec) for run in loaded.runs("mine")} == {3}
    configured.edit("networks", lambda networks: networks["convnet3"].update(FROZEN))
    loaded = configured.load()
    specs = [run.spec for run in loaded.runs("mine")]
    assert {loaded.threads(spec) for spec in specs} == {1}
    assert {loaded.threads_of_backbone(spec) for spec in specs} == {3}


def test_a_crop_beyond_the_images_is_refused(frozen):
    crop = copy.deepcopy(FROZEN)
    crop["frozen"][0]["size"] = 29
    frozen.edit("networks", lambda networks: networks["convnet3"].update(crop))
    assert "center_crop: size is 29; allowed: up to 28" in frozen.problem()


def test_a_random_transform_is_refused(frozen):
    flip = copy.deepcopy(FROZEN)
    flip["frozen"].append("random_horizontal_flip")
    frozen.edit("networks", lambda networks: networks["convnet3"].update(flip))
    problem = frozen.problem()
    assert "networks.yaml: convnet3: frozen: random_horizontal_flip is random" in problem
    assert problem.endswith("allowed: center_crop, normalize, resize, to_float")

"""A wrong value is blamed on the file and the entry that has it, whatever study uses it."""

import pytest


@pytest.mark.parametrize(
    ("file", "keys", "value", "said"),
    [
        (
            "methods",
            ["triplet", "sampling"],
            "balnced",
            "methods.yaml: triplet.sampling: unknown sampling of a recipe 'balnced'; did you mean "
            "'balanced'?",
        ),
        ("methods", ["triplet", "loss"], {"name": "triplet", "margin": "x"}, "methods.yaml: trip"),
        ("networks", ["convnet3", "mean"], [], "networks.yaml: convnet3.mean"),
        ("datasets", ["glyphs", "splits", "half"], "hafl", "datasets.yaml: glyphs.splits.half"),
        ("measures", ["structure"], {"title": "M", "metrics": ["nim"]}, "measures.yaml: structure"),
        (
            "experiments",
            ["roth2020_vertical_lines", "experiment", "optimizer"],
            "adm",
            "experiments.yaml: roth2020_vertical_lines.experiment: experiments/rho_lines: "
            "optimizer is 'adm'; allowed: 'adam' or 'sgd'",
        ),
        (
            "experiments",
            ["karaman2021_losses", "experiment", "options"],
            {"contrastive": {"margin": 1}},
            "experiments.yaml: karaman2021_losses.experiment: experiments/loss_forces: options is",
        ),
        ("recipes", ["glyphs", "batch_size"], 0, "recipes.yaml: glyphs.batch_size: 0"),
    ],
)
def test_an_entry_of_a_catalog(configured, file, keys, value, said):
    configured.change(file, keys, value)
    message = configured.problem()
    assert f"config/{said}" in message
    assert "mine.yaml" not in message


WRONG = {"loss": {"margin": "x"}}


def test_an_override_of_a_recipe(configured):
    configured.override("glyphs", {"where": {"method": "untrained"}, "set": {"epochs": 3}})
    configured.override("glyphs", {"where": {"method": "contrastive"}, "set": WRONG})
    own = len(configured.read("recipes")["glyphs"]["overrides"]) - 1
    assert f"recipes.yaml: glyphs.overrides.{own}, for row " in configured.problem()


def test_values_of_a_method_in_a_recipe_are_the_recipes(configured):
    configured.change("recipes", ["glyphs", "methods", "contrastive"], WRONG)
    configured.change("studies/mine", ["variants"], {"v": {"set": {"clip_value": 3}}})
    configured.grid(variant=["base", "v"])
    assert "recipes.yaml: glyphs, for row " in configured.problem()


@pytest.mark.parametrize("shared", [False, True])
def test_a_variant_is_its_files(configured, shared):
    variant = {"v": {"set": WRONG}}
    if shared:
        configured.edit("variants", lambda values: values.update(variant))
    else:
        configured.change("studies/mine", ["variants"], variant)
    configured.grid(method="contrastive", variant="v")
    file = "variants.yaml" if shared else "mine.yaml"
    assert f"{file}: variants: v, for row " in configured.problem()


def test_a_value_that_a_study_gives_to_a_shared_axis_is_the_studys(configured):
    axis = {"m": {"place": "loss.margin", "values": [0.1]}}
    configured.edit("variants", lambda values: values.update(axis))
    configured.grid(method="contrastive", variant="m=much")
    assert "mine.yaml: variants: m=much, for row " in configured.problem()

"""Wrong values of a configuration: one line that names file, key, value and what is allowed."""

import pytest

MARGIN = ["glyphs", "methods", "contrastive", "loss", "margin"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("big", "'big'"),
        ("null", "None"),
        ("[0.1]", "[0.1]"),
        ("{a: 1}", "{'a': 1}"),
        ("true", "True"),
        ("'0.1'", "'0.1'"),
        (".nan", "nan"),
        (".inf", "inf"),
    ],
)
def test_a_margin_is_a_number(configured, text, shown):
    write(configured, text)
    message = configured.problem()
    assert "recipes.yaml: glyphs, for row glyphs/convnet3/d8/contrastive" in message
    number = "a finite number" if shown in ("nan", "inf") else "a valid number"
    assert f"margin is {shown}; allowed: {number}" in message


@pytest.mark.parametrize("text", ["1e-1", "1E-1", "0.1", "1.e-1", "1e-01"])
def test_a_margin_may_be_written_as_in_science(configured, text):
    write(configured, text)
    loaded = configured.load()
    margins = {
        loaded.spec(row).loss.hyperparameters["margin"]
        for row in loaded.rows("mine")
        if row.method == "contrastive"
    }
    assert margins == {0.1}


def write(configured, text):
    """Write a text literally into the file, as the margin of the contrastive loss."""
    configured.change("recipes", ["glyphs", "methods"], {"contrastive": {"loss": {"margin": 77}}})
    path = configured.folder / "recipes.yaml"
    before = path.read_text()
    assert before.count("margin: 77\n") == 1
    path.write_text(before.replace("margin: 77\n", f"margin: {text}\n"))


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (
            {"batch_size": 101},
            ["sampler class_balanced: batch_size is 101", "a multiple of images_per_class, 5"],
        ),
        (
            {"transforms": {"train": [{"name": "random_crop", "size": 300}]}},
            ["transforms.train.0: random_crop: size is 300; allowed: up to 256, the images'"],
        ),
        ({"schedule": {"step": 0, "gamma": 0.5}}, ["schedule.step: 0", "greater than 0"]),
        ({"selection": "best_epoch"}, ["selection: 'best_epoch'", "'best_test_epoch'"]),
        ({"selection_metric": "recal_at_1"}, ["selection_metric", "recal_at_1"]),
    ],
)
def test_values_of_a_recipe_must_fit(configured, values, parts):
    sampler = {"name": "class_balanced", "images_per_class": 5}
    own = {"title": "Own", "base": "glyphs", "sampling": {"random": sampler, "balanced": sampler}}
    configured.change("recipes", ["own"], own | values)
    configured.grid(recipe="own", dataset="cub200", network="resnet50")
    message = configured.problem()
    assert all(part in message for part in ["recipes.yaml: own", *parts]), message


def test_what_fits_at_256_pixels_is_allowed(configured):
    chain = [{"name": "random_crop", "size": 256}]
    own = {"title": "Own", "base": "glyphs", "transforms": {"train": chain}}
    configured.change("recipes", ["own"], own)
    configured.grid(recipe="own", dataset="cub200", network="resnet50")
    configured.load()


@pytest.mark.parametrize(
    ("split", "fold", "said"),
    [
        ("half", 0, "0: split rule half has no folds; allowed: none"),
        ("half4fold", None, "is missing: split rule half4fold has folds; allowed: 0 to 3"),
        ("half4fold", 4, "4: split rule half4fold lacks it; allowed: 0 to 3"),
        ("half4fold", [0, 1, 7], "7: split rule half4fold lacks it; allowed: 0 to 3"),
        (["half4fold", "half"], 0, "0: split rule half has no folds; allowed: none"),
    ],
)
def test_a_fold_is_one_of_the_split(configured, split, fold, said):
    configured.grid(split=split, fold=fold)
    assert f"mine.yaml: runs.0.fold: {said}" in configured.problem()


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"fold": 4}, "4: split rule half4fold lacks it; allowed: 0 to 3"),
        ({"fold": None}, "is missing: split rule half4fold has folds; allowed: 0 to 3"),
        ({"split": "half"}, "0: split rule half has no folds; allowed: none"),
    ],
)
def test_a_fold_of_a_search_is_one_of_its_split(configured, run, said):
    configured.edit("searches", lambda values: values["small"]["run"].update(run))
    assert f"searches.yaml: small.run.fold: {said}" in configured.problem()


@pytest.mark.parametrize("fold", [0, [3, 0]])
def test_folds_of_the_split_are_allowed(configured, fold):
    configured.grid(split="half4fold", fold=fold)
    configured.load()

"""Recipes: their bases, their values for methods, and that specs name every option."""

import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.recipes import built_on_bases
from dmlbench.plan.specs.spec import SpecNetwork
from dmlbench.plan.specs.versions import versions
from hypothesis import given
from hypothesis import strategies as st
from project import every_study

BASE = {
    "title": "Base",
    "epochs": 3,
    "optimizer": {"name": "adam", "learning_rate": 0.1},
    "methods": {"margin": {"loss": {"beta": 1}}, "triplet": {"loss": {"margin": 2}}},
    "overrides": [1],
}


def test_what_is_not_said_is_as_in_the_base():
    recipes = {
        "base": BASE,
        "child": {
            "base": "base",
            "optimizer": {"learning_rate": 0.2},
            "methods": {"margin": {"loss": {"nu": 3}}, "arcface": {}},
            "overrides": [2],
        },
        "grandchild": {"base": "child", "epochs": 9, "overrides": [3]},
    }
    built = built_on_bases(recipes)
    assert built["base"] == BASE
    assert built["child"] == {
        "title": "Base",
        "base": "base",
        "epochs": 3,
        "optimizer": {"name": "adam", "learning_rate": 0.2},
        "methods": {
            "margin": {"loss": {"beta": 1, "nu": 3}},
            "triplet": {"loss": {"margin": 2}},
            "arcface": {},
        },
        "overrides": [1, 2],
    }
    assert built["grandchild"] == built["child"] | {
        "base": "child",
        "epochs": 9,
        "overrides": [1, 2, 3],
    }


def test_another_optimizer_replaces_the_base_s():
    built = built_on_bases({"base": BASE, "b": {"base": "base", "optimizer": {"name": "sgd"}}})
    assert built["b"]["optimizer"] == {"name": "sgd"}


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_the_file_does_not_count(order):
    recipes = {"a": {"x": 1}, "b": {"base": "a", "y": 2}, "c": {"base": "b"}, "d": {"base": "b"}}
    assert built_on_bases({name: recipes[name] for name in order}) == built_on_bases(recipes)


@pytest.mark.parametrize(
    ("recipes", "said"),
    [
        ({"a": {"base": "a"}}, "a.base: a builds on a; allowed"),
        ({"a": {"base": "b"}, "b": {"base": "a"}}, "builds on"),
        ({"a": {"base": "b"}, "b": {"base": "c"}, "c": {"base": "a"}}, "builds on"),
        ({"a": {"base": "abc"}, "abd": {}}, "a.base: unknown recipe 'abc'; did you mean 'abd'"),
    ],
)
def test_a_base_that_cannot_be_is_named(recipes, said):
    with pytest.raises(UserError, match=said):
        built_on_bases(recipes)


def test_in_a_file_it_is_one_line(configured):
    configured.change("recipes", ["glyphs", "base"], "glyphs")
    assert "recipes.yaml: glyphs.base: glyphs builds on glyphs" in configured.problem()


def test_hyperparameters_of_methods_come_from_recipes(configured):
    values = {"loss": {"margin": 0.25}, "batch_size": 60}
    configured.change("recipes", ["glyphs", "methods", "contrastive"], values)
    other = {"title": "Other", "base": "glyphs", "methods": {"contrastive": {"batch_size": 40}}}
    configured.change("recipes", ["other"], other)
    configured.grid(recipe=["glyphs", "other"], embedding_dim=8, seed=0)
    loaded = configured.load()
    specs = {(row.recipe, row.method): loaded.spec(row) for row in loaded.rows("mine")}
    for recipe, batch_size in (("glyphs", 60), ("other", 40)):
        assert specs[(recipe, "contrastive")].loss.hyperparameters["margin"] == 0.25
        assert specs[(recipe, "contrastive")].batch_size == batch_size
        assert specs[(recipe, "triplet")].batch_size == 100


def test_an_override_that_fits_no_row_is_no_mistake(configured):
    configured.change("recipes", ["glyphs", "methods", "margin"], {"loss": {"beta": 0.6}})
    override = {"where": {"method": "margin", "seed": 9}, "set": {"epochs": 2}}
    configured.override("glyphs", override)
    configured.load()


@pytest.mark.parametrize(
    ("keys", "value", "parts"),
    [
        (["methods"], {"margni": {}}, ["glyphs.methods", "'margni'", "'margin'"]),
        (
            ["overrides"],
            [{"where": {"network": "convnet33"}, "set": {}}],
            ["glyphs.overrides.0.where.network", "'convnet33'", "'convnet3'"],
        ),
        (
            ["overrides"],
            [{"where": {"dataset": ["glyphs", "glyph"]}, "set": {}}],
            ["glyphs.overrides.0.where.dataset", "'glyph'"],
        ),
        (["overrides"], [{"where": {"nework": "convnet3"}, "set": {}}], ["'nework'", "'network'"]),
    ],
)
def test_one_that_names_what_is_unknown_is_refused(configured, keys, value, parts):
    configured.change("recipes", ["glyphs", *keys], value)
    message = configured.problem()
    assert all(part in message for part in ["recipes.yaml: ", *parts]), message


def test_a_spec_names_every_option_of_every_part():
    loaded = every_study()
    for run in loaded.runs("psomas2020"):
        spec = run.spec
        assert isinstance(spec.network, SpecNetwork)
        parts = [spec.loss, spec.miner, spec.sampler, spec.split, spec.network.backbone]
        parts += [*spec.regularizers, *spec.transforms.train, *spec.transforms.test]
        for part in filter(None, parts):
            options = registry.options(part.package, part.name)
            named = {key for key, option in options.items() if not option.is_fact}
            assert set(part.hyperparameters) == named, (run.folder, part)
        assert len(versions(spec)) >= 4

"""Variants: named changes, values of axes, and products of both."""

import math

import pytest
from dmlbench.plan.catalogs import variants
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.catalogs.variants import Variant, expand, read_value, title_of, value_text
from dmlbench.plan.catalogs.where import Where
from hypothesis import given
from hypothesis import strategies as st

NAMED = {
    "long": {"title": "twice as long", "set": {"epochs": 24}},
    "m": {"title": "margin", "place": "loss.margin", "values": [0.1, 0.3]},
    "rate": {"place": ["optimizer.learning_rate", "loss_learning_rate"], "values": [0.001, "1/7"]},
    "open": {"place": "batch_size"},
    "partly": {
        "set": {"clip_value": 5},
        "overrides": [{"where": {"embedding_dim": 8}, "set": {"batch_size": 30}}],
    },
    "kind": {
        "title": "kind of batch",
        "choices": {
            "Two": {"title": "two each", "set": {"sampler": {"images_per_class": 2}}},
            "small": {"overrides": [{"where": {"embedding_dim": 8}, "set": {"batch_size": 30}}]},
        },
    },
    "tuned": {"search": "{value}"},
    "best": {"search": "small"},
}


@pytest.fixture
def varied(configured):
    """The plan of one row with the given variants."""
    configured.change("studies/mine", ["variants"], NAMED)

    def load(*names, **grid):
        grid = {"embedding_dim": 8, "method": "contrastive", "seed": 0} | grid
        configured.grid(variant=list(names), **grid)
        return configured.load()

    return load


def names_of(loaded):
    return [row.variant for row in loaded.rows("mine")]


def specs_of(loaded):
    return [loaded.spec(row) for row in loaded.rows("mine")]


def test_without_variants_a_row_has_none(configured):
    assert {row.variant for row in configured.load().rows("mine")} == {""}


def test_a_named_change_is_laid_over_the_spec(varied):
    loaded = varied("base", "long")
    assert names_of(loaded) == ["", "long"]
    base, long = (spec.as_dict() for spec in specs_of(loaded))
    assert long == base | {"epochs": 24}


def test_an_axis_is_each_of_its_values(varied):
    loaded = varied("m", "rate")
    assert names_of(loaded) == ["m=0.1", "m=0.3", "rate=0.001", "rate=1/7"]
    specs = specs_of(loaded)
    assert [spec.loss.hyperparameters["margin"] for spec in specs[:2]] == [0.1, 0.3]
    for spec, value in zip(specs[2:], (0.001, 1 / 7), strict=True):
        assert (spec.optimizer.learning_rate, spec.loss_learning_rate) == (value, value)


def test_one_value_of_an_axis_and_a_fraction(varied):
    loaded = varied("m=12/7", "open=40", "m=0.3")
    assert names_of(loaded) == ["m=12/7", "open=40", "m=0.3"]
    first, second, third = specs_of(loaded)
    assert first.loss.hyperparameters["margin"] == 12 / 7
    assert second.batch_size == 40
    assert third.loss.hyperparameters["margin"] == 0.3


def test_a_product_is_every_combination_each_once(varied):
    loaded = varied("m,rate", "long,m=0.1", "m=0.1,rate=0.001")
    assert names_of(loaded) == [
        "m=0.1,rate=0.001",
        "m=0.1,rate=1/7",
        "m=0.3,rate=0.001",
        "m=0.3,rate=1/7",
        "long,m=0.1",
    ]
    spec = specs_of(loaded)[-1]
    assert (spec.epochs, spec.loss.hyperparameters["margin"]) == (24, 0.1)


def test_overrides_of_a_variant_apply_to_the_rows_that_fit(varied):
    loaded = varied("partly", embedding_dim=[8, 16])
    small, large = specs_of(loaded)
    assert (small.clip_value, large.clip_value) == (5, 5)
    assert small.batch_size == 30 != large.batch_size


def test_an_axis_may_be_a_choice_among_changes(varied):
    loaded = varied("base", "kind", "kind=Two,long", embedding_dim=[8, 16])
    assert names_of(loaded) == 2 * ["", "kind=Two", "kind=small", "kind=Two,long"]
    plain, two, small, long, *_, large, _ = (spec.as_dict() for spec in specs_of(loaded))
    assert two == plain | {"sampler": plain["sampler"] | {"images_per_class": 2}}
    assert (small["batch_size"], large["batch_size"]) == (30, plain["batch_size"])
    assert long == two | {"epochs": 24}
    named = {name: Variant(**values) for name, values in NAMED.items()}
    assert title_of("kind=Two,kind=small", named) == (
        "kind of batch = two each, kind of batch = small"
    )


def test_a_search_may_be_the_value_of_an_axis(varied):
    loaded = varied("tuned=small", "best", split="half4fold", fold=[0])
    assert [loaded.search_of(row) for row in loaded.rows("mine")] == ["small", "small"]
    assert len(loaded.runs("mine")) == 1


@pytest.mark.parametrize(
    ("variant", "parts"),
    [
        ("lnog", ["runs.0.variant: unknown variant 'lnog'", "did you mean 'long'", "base"]),
        ("m,rat", ["unknown variant 'rat'", "'rate'"]),
        ("long=2", ["variant long is a named change and takes no value: 'long=2'"]),
        ("open", ["variant open has no values; allowed: open=<value>"]),
        ("tuned", ["variant tuned has no values"]),
        ("kind=Too", ["unknown choice of variant kind 'Too'", "did you mean 'Two'", "small"]),
        ("m=big", ["loss", "margin is 'big'; allowed: a valid number"]),
        ("open=0", ["batch_size: 0", "greater than 0"]),
        ("m=1/0", ["runs.0.variant: '1/0' is not a value; allowed: a number, 12/7"]),
        ("m=../x", ["'../x' is not a value; allowed"]),
        ("m=[1]", ["'[1]' is not a value; allowed"]),
        ("m={a", ["'{a' is not a value; allowed"]),
        ("tuned=smal", ["unknown search 'smal'", "did you mean 'small'"]),
    ],
)
def test_what_is_wrong_is_one_line(configured, variant, parts):
    configured.change("studies/mine", ["variants"], NAMED)
    configured.grid(variant=variant, method="contrastive", split="half4fold", fold=0)
    message = configured.problem()
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "needs exactly one of set"),
        ({"title": "Nothing"}, "needs exactly one of set"),
        ({"set": {"epochs": 1}, "place": "epochs"}, "needs exactly one of set"),
        ({"set": {"epochs": 1}, "values": [1]}, "has values but is not an axis"),
        ({"search": "small", "values": [1]}, "has values but is not an axis"),
        ({"place": "epochs", "rehearsed": 1}, "has rehearsed but no values"),
        ({"set": {"epochs": 1}, "choices": {"a": {}}}, "needs exactly one of set"),
        ({"choices": {"a": {}}, "values": [1]}, "has values but is not an axis"),
        ({"choices": {"a=b": {}}}, "choices"),
        ({"place": "Loss"}, "place"),
        ({"place": "selection", "values": ["a,b"]}, "has the value 'a,b'; allowed: without"),
        ({"place": "selection", "values": ["m=1"]}, "has the value 'm=1'; allowed: without"),
        ({"place": "epochs", "value": [1]}, "'value'; did you mean 'values'"),
    ],
)
def test_a_variant_is_of_one_kind(configured, values, said):
    configured.change("studies/mine", ["variants"], {"v": values})
    message = configured.problem()
    assert "mine.yaml: variants.v" in message
    assert said in message


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
        lambda word: word not in ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
    )
)


@given(SCALARS)
def test_a_value_is_read_from_its_text_as_it_was(value):
    read = read_value(value_text(value))
    assert (type(read), read) == (type(value), value)


@given(st.integers(-99, 99), st.integers(1, 99))
def test_a_fraction_is_the_number_nearest_to_it(above, below):
    assert math.isclose(read_value(f"{above}/{below}"), above / below, rel_tol=1e-15)


@given(st.lists(SCALARS, min_size=1, max_size=3, unique_by=lambda value: value_text(value)))
def test_the_values_of_an_axis_are_those_that_its_specs_get(values):
    named = {"v": Variant(place="loss.margin", values=values)}
    found = [
        variants.changed({"loss": {"name": "a"}}, name, named, None)["loss"]["margin"]
        for name in expand(["v"], named)
    ]
    assert found == values


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("base", [""]),
        ("long", ["long"]),
        ("m", ["m=0.1", "m=0.3"]),
        ("m=0.3", ["m=0.3"]),
        ("m,rate", ["m=0.1,rate=0.001", "m=0.1,rate=1/7", "m=0.3,rate=0.001", "m=0.3,rate=1/7"]),
        ("m=0.1,rate=1/7", ["m=0.1,rate=1/7"]),
        (["base", "m"], ["", "m=0.1", "m=0.3"]),
        ("rate", []),
    ],
)
def test_where_chooses_names_values_axes_and_products(varied, wanted, found):
    loaded = varied("base", "long", "m", "m,rate")
    where = checked({"variant": wanted}, Where, where="here")
    assert [row.variant for row in loaded.rows("mine", where)] == found


def test_variants_are_shown_by_their_titles():
    named = {name: Variant.model_validate(values) for name, values in NAMED.items()}
    assert title_of("long", named) == "twice as long"
    assert title_of("m=0.1", named) == "margin = 0.1"
    assert title_of("long,m=0.1,rate=1/7", named) == "twice as long, margin = 0.1, rate = 1/7"


def test_a_rehearsal_keeps_words_and_takes_the_first_number_of_an_axis():
    axes = {
        "m": Variant(place="loss.margin", values=[0.1, 0.2]),
        "rho": Variant(place="loss.rho", values=["12/7", 2]),
        "mining": Variant(place="miner.name", values=["hard", "random"]),
        "hinge": Variant(place="loss.hinge", values=[True, False]),
        "free": Variant(place="loss.scale"),
        "warm": Variant(set={"epochs": 2}),
    }
    for variant, expected in (
        ("m=40", "m=0.1"),
        ("rho=2,m=0.1", "rho=12/7,m=0.1"),
        ("mining=random,m=0.2", "mining=random,m=0.1"),
        ("hinge=no", "hinge=no"),
        ("free=3,warm", "free=3,warm"),
        ("", ""),
    ):
        assert variants.rehearsed(variant, axes) == expected


def test_an_axis_may_name_the_number_that_represents_all_in_a_rehearsal():
    axes = {"m": Variant(place="loss.margin", values=[0.1, 2], rehearsed=40)}
    assert variants.rehearsed("m=0.1", axes) == variants.rehearsed("m=2", axes) == "m=40"

"""A part's options are declared in its signature; plan and build refuse all others alike."""

import importlib
import inspect
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import project
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.plan.choices import (
    Backbone,
    FigureKind,
    Generator,
    Loss,
    SplitRule,
    Strategy,
    TableKind,
    Transform,
)
from dmlbench.plan.read import read_yaml
from dmlbench.presentation.kind import Kind
from dmlbench.values import (
    Added,
    Infinity,
    Interval,
    Metric,
    MultipleOf,
    OtherThan,
    PartThat,
    Printed,
    RankingMetric,
    Rising,
    fits,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

PACKAGES = sorted([*project.PACKAGES, "presentation/figures", "presentation/tables"])
PARTS = [(package, name) for package in PACKAGES for name in registry.available(package)]
OPTIONS = [
    (package, name, key)
    for package, name in PARTS
    for key, option in registry.options(package, name).items()
    if not option.is_fact
]
FACTS = {
    "batch_size": 60,
    "embedding_dim": 4,
    "epochs": 20,
    "id": "id",
    "input_channels": 3,
    "labels": np.repeat(np.arange(60), 4).tolist(),
    "arrays": {
        0: {
            "points": np.zeros((4, 2)),
            "labels": np.zeros(4),
            "arrows_3_6_r=0": np.zeros((3, 2, 2)),
        }
    },
    "methods": ["margin"],
    "num_classes": 3,
    "parameters": {},
    "rows": [],
    "searches": {},
    "seed": 0,
    "selection": "last_epoch",
    "spec_values": {},
    "title": "Title",
    "years": {"margin": 2017},
}
PRINTED = pd.DataFrame(
    {"metric": ["recall_at_1"], "role": ["test"], "method": ["margin"], "number": [60.0]}
)
NEEDED = {
    "against": "margin",
    "axes": ["m"],
    "axis": "classes",
    "change": ["p_switch"],
    "between": "method",
    "embedding_dim": 4,
    "figure": "3_6",
    "mean": [0.5],
    "metric": "recall_at_1",
    "metrics": ["recall_at_1"],
    "model": "resnet18",
    "size": 16,
    "losses": ["margin"],
    "over": "margin",
    "references": ["margin"],
    "reference": {"m": 1},
    "numbers": [{"label": "Label", "metric": "recall_at_1"}],
    "spaces": [{"array": "points", "title": "Points"}],
    "std": [0.5],
    "values": [10.0],
    "x": ["recall_at_1"],
}
"""Values of options without a default."""

DEPENDENT = {
    ("data/generators", "glyphs", "characters"): "there are only so many characters",
    ("data/transforms", "normalize", "mean"): "as many numbers as std",
    ("data/transforms", "normalize", "std"): "as many numbers as mean",
    ("experiments", "gaussian_classes", "classes"): "more than training_classes",
    ("experiments", "gaussian_classes", "training_classes"): "fewer than classes",
    ("experiments", "projection_toy", "batch_size"): "a multiple of images_per_class",
    ("experiments", "projection_toy", "classes"): "enough for a batch",
    ("experiments", "projection_toy", "images_per_class"): "a divisor of batch_size",
    ("experiments", "random_embeddings", "classes"): "half the points or fewer",
    ("experiments", "random_embeddings", "points"): "twice the classes or more",
    ("miners", "distance_weighted", "lower_cutoff"): "below upper_cutoff",
    ("miners", "distance_weighted", "upper_cutoff"): "above lower_cutoff",
    ("miners", "distance_weighted_pairs", "lower_cutoff"): "below upper_cutoff",
    ("miners", "distance_weighted_pairs", "upper_cutoff"): "above lower_cutoff",
    ("presentation/figures", "force_field", "draws"): "what the arrays have",
    ("presentation/figures", "force_field", "figure"): "a figure that the arrays are of",
    ("presentation/figures", "point_spaces", "labels"): "the name of an array",
    ("presentation/figures", "point_spaces", "seed"): "a seed of the arrays",
    ("presentation/figures", "point_spaces", "spaces"): "names of arrays",
    ("samplers", "class_balanced", "images_per_class"): "a divisor of batch_size",
    ("samplers", "class_balanced_with_replacement", "images_per_class"): "a divisor of batch_size",
    ("samplers", "distance_distribution", "pool_size"): "batch_size or more",
    ("samplers", "distance_distribution", "group_size"): "a divisor of batch_size",
    ("samplers", "frd", "pool_size"): "batch_size or more",
    ("samplers", "frd", "group_size"): "a divisor of batch_size",
    ("samplers", "greedy_coreset", "pool_size"): "batch_size or more",
    ("samplers", "greedy_coreset", "group_size"): "a divisor of batch_size",
    ("samplers", "profs", "images_per_class"): "a divisor of batch_size",
    ("samplers", "profs_hncm", "images_per_class"): "a divisor of batch_size",
    ("samplers", "spc", "images_per_class"): "a divisor of batch_size",
    ("samplers", "spc_with_replacement", "images_per_class"): "a divisor of batch_size",
}
"""Options with additional constraints, which the part itself checks."""

FREE = {
    "against": "a variant or a method, or base",
    "axes": "columns, or axes of the variants",
    "axis": "a column, or an axis of the variants",
    "box": "a column of the user's",
    "change": "parts of a variant",
    "column": "a column, or an axis of the variants",
    "compared_with": "variants, as printed and of ours",
    "file": "a name of the user's",
    "figure": "what an experiment's arrays are of",
    "group": "a column of the user's",
    "label": "a column of the user's",
    "labels": "text for readers, or an array of an experiment",
    "metric": "also one of an experiment",
    "metrics": "also metrics of an experiment",
    "model": "a name of another package",
    "numbers": "text for readers",
    "options": "options of the named losses",
    "over": "names of the catalog, or of an experiment",
    "path": "a column of the user's",
    "panel": "a column, or an axis of the variants",
    "reference": "columns and their values",
    "references": "names of the catalog",
    "row_header": "text for readers",
    "spaces": "text for readers, and arrays of an experiment",
    "start": "values of the search's parameters",
    "values": "values of an axis",
}
"""Options of free words, and what they name."""

NO_NUMBERS = ["big", "1", None, True, [], [1.0], {}, math.nan, -math.inf]


def signature(package, name):
    module = importlib.import_module(f"dmlbench.{package}.{name}".replace("/", "."))
    names = {key.lower(): value for key, value in vars(module).items() if inspect.isclass(value)}
    return names[name.replace("_", "")].__init__


def others(package, name, key):
    """Values of a part's required options."""
    options = registry.options(package, name)
    needed = {other: NEEDED.get(other, PRINTED) for other in options if other != key}
    return {
        other: value
        for other, value in needed.items()
        if options[other].required and not options[other].is_fact
    }


def built(package, name, **options):
    return registry.build(package, name, context=FACTS, **options)


def refusal(function, *given, **options):
    """The line of the error; None if there is none."""
    try:
        function(*given, **options)
    except UserError as error:
        return str(error)
    return None


def inside(kind):
    """Values of a declared type, not too large."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Infinity or kind == Infinity:
        return st.just(math.inf)
    if kind in (Metric, RankingMetric):
        return st.sampled_from(["recall_at_1", "precision_at_1000", "nmi", "map_at_r"])
    if origin is Annotated:
        base, *constraints = (each for each in arguments if each != Added())
        return narrowed(base, *constraints) if constraints else inside(base)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.tuples(*map(inside, arguments)).map(list)
    if origin in (list, Sequence):
        return st.lists(inside(arguments[0]), min_size=1, max_size=3)
    if origin is Mapping:
        return st.dictionaries(inside(arguments[0]), inside(arguments[1]), max_size=2)
    if arguments:
        return st.one_of(map(inside, arguments))
    return {
        float: st.floats(-1e3, 1e3) | st.integers(-1000, 1000),
        int: st.integers(-20, 20),
        bool: st.booleans(),
        str: st.text("abc", min_size=1, max_size=5),
        type(None): st.none(),
    }[kind]


def narrowed(base, constraint, *more):
    if isinstance(constraint, Rising):
        return inside(base).map(sorted)
    if isinstance(constraint, OtherThan):
        return inside(base).filter(lambda number: number != constraint.value)
    if isinstance(constraint, PartThat):
        return st.sampled_from(constraint.names())
    assert isinstance(constraint, Interval)
    low, high = constraint.low, min(constraint.high, constraint.low + 20)
    if base is int:
        (step,) = [each.divisor for each in more if isinstance(each, MultipleOf)] or [1]
        first = -(-low // step)
        return st.integers(first, max(first, high // step)).map(lambda number: number * step)
    return st.floats(
        low,
        high,
        exclude_min=constraint.open in ("low", "both"),
        exclude_max=constraint.open in ("high", "both"),
    )


def outside(kind):
    """Values that a declared type does not allow, next to its ends and far away."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        base, *constraints = arguments
        found = outside(base) if base is not object else NO_NUMBERS
        for constraint in constraints:
            if isinstance(constraint, Interval):
                found = found + beyond(base, constraint)
            if isinstance(constraint, MultipleOf):
                found = [*found, constraint.divisor * 2 + 1]
            if isinstance(constraint, OtherThan):
                found = [*found, constraint.value, float(constraint.value)]
            if isinstance(constraint, Rising):
                found = [*found, [1.0, 0.5]]
        return found
    if origin in (list, Sequence):
        return [None, True, 1, {}, [], *([wrong] for wrong in outside(arguments[0]))]
    if origin is tuple:
        return [None, True, 1, [], [0.5], *([wrong, wrong] for wrong in outside(arguments[0]))]
    if origin is Mapping:
        return [None, True, 1, [], *({"a": wrong} for wrong in outside(arguments[1]))]
    if origin is Literal:
        return ["other", 99, None, True, []]
    if arguments:
        wrong = [value for each in arguments for value in outside(each)]
        return [value for value in wrong if not any(fits(each, value) for each in arguments)]
    if kind in (float, int):
        wrong = [*NO_NUMBERS, math.inf, 10**400 if kind is float else 1.0]
        return wrong if kind is float else [*wrong, 0.5]
    return [None, 1, 0.5, [], {}] if kind in (bool, str) else [1, "null", False]


def beyond(base, interval):
    ends = []
    for end, sign in ((interval.low, -1), (interval.high, 1)):
        if math.isfinite(end):
            is_out = interval.open in (("low", "both") if sign < 0 else ("high", "both"))
            near = end + sign if base is int else math.nextafter(end, sign * math.inf)
            ends += [near, end + sign * 1000] + ([end] if is_out else [])
    return ends


@pytest.mark.parametrize(("package", "name"), PARTS)
def test_what_is_read_from_the_source_is_what_is_declared(package, name):
    options = registry.options(package, name)
    if not options:
        return
    init = signature(package, name)
    inherited = {each.name for each in fields(Kind)} if package.startswith("presentation") else ()
    arguments = {
        key: each
        for key, each in inspect.signature(init).parameters.items()
        if each.kind is inspect.Parameter.KEYWORD_ONLY and key not in inherited
    }
    assert list(options) == list(arguments)
    hints = get_type_hints(init, include_extras=True)
    for key, option in options.items():
        assert option.required == (arguments[key].default is inspect.Parameter.empty)
        if not option.is_fact:
            assert option.kind == hints[key]
        if not option.required:
            assert option.default == arguments[key].default


def test_a_word_of_a_closed_set_is_declared_as_one():
    """Otherwise a misspelled one would show only in a job."""
    free = {
        key for package, name, key in OPTIONS if "str" in registry.options(package, name)[key].names
    }
    assert free == FREE.keys()


@pytest.mark.parametrize(("package", "name"), PARTS)
def test_a_default_is_what_is_declared(package, name):
    for key, option in registry.options(package, name).items():
        if not option.is_fact and not option.required:
            registry.check_options(
                package, name, others(package, name, key) | {key: option.default}
            )


@pytest.mark.parametrize(
    ("package", "name", "key"),
    # Which names and sizes other packages have: tests/networks/test_any_backbone.py.
    [option for option in OPTIONS if option[1] not in ("timm", "torchvision")],
)
def test_what_is_declared_passes_plan_and_build(package, name, key):
    option = registry.options(package, name)[key]
    printed = option.kind == Printed or Printed in get_args(option.kind)

    @settings(max_examples=5)
    @given(st.data())
    def passes(data):
        value = data.draw(st.just(["06"]) if printed else inside(option.kind))
        options = others(package, name, key) | {key: value}
        registry.check_options(package, name, options)
        if not printed and (package, name, key) not in DEPENDENT:
            built(package, name, **options)

    passes()


@pytest.mark.parametrize(("package", "name", "key"), OPTIONS)
def test_what_is_not_declared_is_refused_by_plan_and_build_alike(package, name, key):
    for value in outside(registry.options(package, name)[key].kind):
        options = others(package, name, key) | {key: value}
        line = refusal(registry.check_options, package, name, options)
        assert line is not None, value
        assert line.startswith(f"{package}/{name}: {key} is "), value
        assert "; allowed: " in line
        assert "\n" not in line
        assert refusal(built, package, name, **options) == line


@pytest.mark.parametrize(
    ("package", "name", "key"),
    [(package, name, key) for package, name, key in OPTIONS
     if registry.options(package, name)[key].required],
)  # fmt: skip
def test_an_option_without_a_default_must_be_given(package, name, key):
    line = refusal(registry.check_options, package, name, others(package, name, key))
    assert line.startswith(f"{package}/{name}: {key} is missing; allowed: ")
    assert refusal(built, package, name, **others(package, name, key)) == line


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (Loss, {"name": "margin", "margin": "big"}, "losses/margin: margin is 'big'; "),
        (Backbone, {"name": "convnet", "widths": 64}, "networks/backbones/convnet: widths is 64; "),
        (Generator, {"name": "glyphs", "size": 1}, "data/generators/glyphs: size is 1; "),
        (SplitRule, {"name": "fixed", "validation": 1}, "data/splits/fixed: validation is 1; "),
        (Transform, "resize", "'resize': data/transforms/resize: size is missing; "),
        (Strategy, {"name": "tpe", "candidates": 0}, "search/strategies/tpe: candidates is 0; "),
        (
            TableKind,
            {"name": "tournament", "metric": "r"},
            "presentation/tables/tournament: metric",
        ),
        (FigureKind, {"name": "critical_difference", "level": 1}, ".*: level is 1; "),
    ],
)
def test_a_file_with_a_wrong_value_is_refused_by_its_place(tmp_path, kind, given, said):
    file = tmp_path / "parts.yaml"
    file.write_text(json.dumps({"mine": given}))
    with pytest.raises(UserError, match=f"^{file}: mine: {said}"):
        read_yaml(file, dict[str, kind])


def test_one_is_neither_true_nor_a_float_where_choices_were_checked_before():
    Loss(name="fastap", bins=1)
    for wrong in (True, 1.0):
        with pytest.raises(ValidationError, match=f"bins is {wrong}; "):
            Loss(name="fastap", bins=wrong)


@pytest.mark.parametrize("number", ["1e-1", "1E-1", "1.e-1", "+1e-1", ".1e0", "1e-01", "0.1"])
def test_numbers_are_written_as_in_yaml_1_2(tmp_path, number):
    file = tmp_path / "numbers.yaml"
    file.write_text(f"number: {number}\n")
    assert read_yaml(file, dict) == {"number": 0.1}


@pytest.mark.parametrize("word", ["e1", "1e", "1e1x", "v1e-1", "1-e1", "'1e-1'", "1e-1.0"])
def test_words_that_look_like_numbers_stay_words(tmp_path, word):
    file = tmp_path / "words.yaml"
    file.write_text(f"word: {word}\n")
    assert read_yaml(file, dict) == {"word": word.strip("'")}


def test_numbers_of_numpy_are_numbers():
    assert fits(float, np.float32(0.5))
    assert fits(float, np.int64(2))
    assert fits(int, np.int64(2))
    assert not fits(int, np.float64(2))
    assert not fits(float, np.bool_(True))
    assert not fits(Union[float, None], np.nan)  # noqa: UP007

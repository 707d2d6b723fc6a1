"""A part's options are declared in its signature; plan and build refuse all others alike."""

import inspect
import json
from dataclasses import fields
from typing import Union, get_args, get_type_hints

import numpy as np
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
    Printed,
    fits,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from part_values import (
    DEPENDENT,
    FREE,
    OPTIONS,
    PARTS,
    built,
    inside,
    others,
    outside,
    refusal,
    signature,
)
from pydantic import ValidationError


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
        (FigureKind, {"name": "rank_by_year", "metric": 1}, ".*: metric is 1; "),
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

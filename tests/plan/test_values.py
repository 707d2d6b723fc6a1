"""A part's options are declared in its signature; plan and build refuse all others alike."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Literal, get_args, get_type_hints

import numpy as np
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.part_files import part_of
from dmlbench.plan.catalogs.choices import (
    Backbone,
    FigureKind,
    Generator,
    Loss,
    SplitRule,
    Strategy,
    TableKind,
    Transform,
)
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.presentation.kind import Kind
from dmlbench.values import (
    Count,
    InnerShare,
    Metric,
    NotNegative,
    NotOne,
    Positive,
    PositiveOrInfinite,
    PositiveShare,
    Printed,
    Range,
    RankingMetric,
    Share,
    TripletLoss,
    refusal,
)
from part_values import (
    DEPENDENT,
    FREE,
    NEEDED,
    OPTIONS,
    PARTS,
    VALUES,
    built,
    others,
    says,
    signature,
    words_of,
)
from pydantic import ValidationError


@pytest.mark.parametrize(("package", "name"), [each for each in PARTS if part_of(*each) == each[1]])
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


@pytest.mark.parametrize(("package", "name", "key"), OPTIONS)
def test_plan_and_build_take_and_refuse_the_same_values(package, name, key):
    kind = registry.options(package, name)[key].kind
    words = words_of(kind)
    values = [NEEDED.get(key), *words, *([word] for word in words), *VALUES]
    given = [others(package, name, key) | {key: value} for value in values]
    lines = [says(registry.check_options, package, name, options) for options in given]
    refused = [(options, line) for options, line in zip(given, lines, strict=True) if line]
    assert 0 < len(refused) < len(given)
    for options, line in refused:
        assert line.startswith(f"{package}/{name}: {key} is "), options
        assert "; allowed: " in line
        assert "\n" not in line
        assert says(built, package, name, **options) == line
    # Which names and sizes other packages have: tests/networks/test_any_backbone.py.
    printed = kind == Printed or Printed in get_args(kind)
    if not (printed or (package, name, key) in DEPENDENT or name in ("timm", "torchvision")):
        taken = [options for options, line in zip(given, lines, strict=True) if not line]
        for options in taken[:5]:
            built(package, name, **options)


@pytest.mark.parametrize(
    ("package", "name", "key"),
    [(package, name, key) for package, name, key in OPTIONS
     if registry.options(package, name)[key].required],
)  # fmt: skip
def test_an_option_without_a_default_must_be_given(package, name, key):
    line = says(registry.check_options, package, name, others(package, name, key))
    assert line.startswith(f"{package}/{name}: {key} is missing; allowed: ")
    assert says(built, package, name, **others(package, name, key)) == line


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


@pytest.mark.parametrize(
    ("kind", "allowed", "refused", "said"),
    [
        (
            float,
            [1, 0.5, np.float32(0.5), np.int64(2)],
            [True, "1", None, np.bool_(True)],
            "number",
        ),
        (float, [-1e300], [np.nan, np.inf, -np.inf], "finite number"),
        (float, [10**300], [10**400], "number"),
        (float | None, [None, 1], ["1", True, {}], "a valid number"),
        (int, [0, np.int64(2)], [1.0, np.float64(2), True], "integer"),
        (bool, [True], [1, "true", None], "boolean"),
        (Positive, [1e-9], [0, -1], "greater than 0"),
        (PositiveOrInfinite, [1, np.inf], [0, -np.inf, np.nan], "greater than 0"),
        (NotNegative, [0], [-1e-9], "greater than or equal to 0"),
        (NotOne, [0, 2], [1, 1.0], "any number but 1"),
        (Share, [0, 1], [-0.1, 1.1], "than or equal to"),
        (PositiveShare, [1], [0, 1.1], "than"),
        (InnerShare, [0.5], [0, 1], "less|greater than"),
        (Count, [1], [0], "greater than or equal to 1"),
        (Literal["all", "one"], ["one"], ["other", None, []], "'all' or 'one'"),
        (Sequence[Count], [[1], (1, 2)], [1, "ab", None, {}, []], "a list"),
        (Sequence[Count], [[1]], [[0]], "greater than or equal to 1"),
        (Range[Share], [[0, 1], (1, 1)], [[1, 0]], "two numbers, the smaller first"),
        (Range[Share], [[0, 1]], [[1], [0, 1, 1]], "2 items"),
        (Mapping[str, float], [{}, {"a": 1}], [{"a": "b"}, {1: 1}, []], ""),
        (Metric, ["rho", "nmi"], ["x"], r"a metric \(ami, .*, rho\)"),
        (RankingMetric, ["nmi"], ["rho", "x"], r"a metric.* \(ami, .*\)"),
        (TripletLoss, ["triplet"], ["contrastive"], "facenet, .*, triplet"),
        (
            Printed,
            [["06"], np.zeros(3)],
            [[], [6], "06", 6, None],
            "a list|names of printed tables",
        ),
    ],
)
def test_a_type_allows_values_and_says_so(kind, allowed, refused, said):
    assert [value for value in allowed if refusal(kind, value)] == []
    for value in refused:
        assert re.search(said, refusal(kind, value))

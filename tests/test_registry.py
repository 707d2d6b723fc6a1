"""Parts are found by the name of their file and checked without being imported."""

import pytest
from dmlbench import part_files, registry
from dmlbench.errors import UserError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one part, `two_words`, and broken ones."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "_shared.py").write_text(
        "class TwoWords:\n    def __init__(self, *, own: int): pass\n"
        "    def forward(self, x: Tensor) -> Token: pass\n"
        "raise AssertionError('not to be imported')"
    )
    (tmp_path / "package" / "empty.py").write_text("")
    (tmp_path / "package" / "two_words.py").write_text(
        "raise AssertionError('not to be imported')\n"
        "VERSION = 3\n"
        "class TwoWords:\n"
        "    def __init__(self, labels, *, margin: NotNegative = 1 / 4, scale: Count,\n"
        "        sizes: Sequence[int] = (1, 2), watched: Sequence[Metric] | None = None,\n"
        "        limit: PositiveOrInfinite | None = float('inf'),\n"
        "        titles: Fact[pd.DataFrame] = None): pass\n"
        "    def forward(self, x, tuples: Pairs | None = None): pass\n"
    )
    (tmp_path / "package" / "fields.py").write_text(
        "raise AssertionError('not to be imported')\n"
        "class Fields(Kind):\n"
        '    """Options as fields."""\n'
        "    watched: Sequence[Metric]\n"
        "    scale: Count = 2\n"
        "    queries: Fact[Sequence[Path]] = ()\n"
        "    limit = 3\n"
        "    def __call__(self, scores): pass\n"
    )
    (tmp_path / "package" / "unknown_type.py").write_text(
        "class UnknownType(Kind):\n    margin: Tensor = 0.1\n"
    )
    (tmp_path / "package" / "bare.py").write_text(
        "class Bare:\n    def __init__(self, *, margin=0.1): pass\n"
    )
    (tmp_path / "package" / "strange.py").write_text(
        "class Strange:\n    def __init__(self, *, margin: Tensor = 0.1): pass\n"
    )
    (tmp_path / "package" / "typo.py").write_text("class Typo:\n    def f(:\n")
    for name, base in (("derived", "two_words"), ("apart", "_shared")):
        (tmp_path / "package" / f"{name}.py").write_text(
            f"from dmlbench.package.{base} import TwoWords\n"
            f"class {name.capitalize()}(TwoWords): pass\n"
        )
    monkeypatch.setattr(part_files, "_LIBRARY", tmp_path)
    read = [*vars(registry).values(), *vars(part_files).values()]
    cached = [function for function in read if hasattr(function, "cache_clear")]
    for function in cached:
        function.cache_clear()
    yield "package"
    for function in cached:
        function.cache_clear()


def test_parts_are_files(package):
    names = ("apart", "bare", "derived", "empty", "fields", "strange", "two_words", "typo")
    names += ("unknown_type",)
    assert registry.available(package) == names


def test_options_are_keyword_only_arguments(package):
    names = ("margin", "scale", "sizes", "watched", "limit", "titles")
    assert tuple(registry.options(package, "two_words")) == names


def test_declarations_are_read_from_the_source(package):
    options = registry.options(package, "two_words")
    defaults = {key: option.default for key, option in options.items() if not option.required}
    assert defaults == {
        "margin": 0.25,
        "sizes": (1, 2),
        "watched": None,
        "limit": float("inf"),
        "titles": None,
    }
    assert [key for key, option in options.items() if option.is_fact] == ["titles"]


def test_a_class_without_init_declares_its_options_as_fields(package):
    options = registry.options(package, "fields")
    assert tuple(options) == ("watched", "scale", "queries")
    assert [option.required for option in options.values()] == [True, False, False]
    assert options["scale"].default == 2
    assert [key for key, option in options.items() if option.is_fact] == ["queries"]
    assert registry.options_of_kind(package, "fields", "Metric") == ("watched",)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "package/fields: watched is missing; allowed: a list"),
        ({"watched": ["nmi"], "scale": 0}, "package/fields: scale is 0; allowed: greater than or"),
        ({"watched": ["nmi"], "scal": 1}, "unknown hyper-parameter of package/fields 'scal'; did"),
        ({"queries": []}, "unknown hyper-parameter of package/fields 'queries'; allowed: "),
        ({"limit": 4}, "package/fields: limit has no annotation; allowed: see dmlbench.values$"),
    ],
)
def test_what_is_wrong_with_a_field_is_one_line(package, given, said):
    with pytest.raises(UserError, match=f"^{said}") as error:
        registry.check_options(package, "fields", given)
    assert "\n" not in str(error.value)


def test_options_of_a_kind_are_found_in_lists_too(package):
    assert registry.options_of_kind(package, "two_words", "Metric") == ("watched",)
    assert registry.options_of_kind(package, "two_words", "Count") == ("scale",)


def test_annotations_are_read_from_the_source(package):
    assert registry.annotation(package, "two_words", "forward", "tuples") == "Pairs | None"
    assert registry.annotation(package, "two_words", "forward", "nothing") is None


def test_a_version_is_read_from_the_source(package):
    assert registry.version(package, "two_words") == 3
    assert registry.version(package, "empty") == 1


def test_a_part_has_the_options_of_the_one_from_which_it_derives(package):
    assert registry.options("package", "derived") == registry.options("package", "two_words")
    assert registry.annotation("package", "derived", "forward", "tuples") == "Pairs | None"
    # Of a class that parts share come their methods, but not what its constructor takes.
    assert registry.options("package", "apart") == {}
    assert registry.annotation("package", "apart", "forward", "return") == "Token"


def test_an_unknown_name_lists_near_matches(package):
    with pytest.raises(UserError, match=r"unknown package 'two_word'; did you mean 'two_words'"):
        registry.check_options(package, "two_word", {})


def test_a_file_without_its_class_is_named(package):
    with pytest.raises(UserError, match=r"package/empty\.py defines no class Empty"):
        registry.check_options(package, "empty", {})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bare", "package/bare: margin has no annotation; allowed: see dmlbench.values"),
        ("strange", "package/strange: the declaration of margin has 'Tensor'; allowed: "),
        ("unknown_type", "package/unknown_type: the declaration of margin has 'Tensor'; allowed"),
        ("typo", r"\S*package/typo\.py: line 2: not Python: .*: def f\(:$"),
    ],
)
def test_an_option_that_is_not_declared_is_named(package, name, said):
    with pytest.raises(UserError, match=f"^{said}"):
        registry.check_options(package, name, {})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"margn": 1},
            "unknown hyper-parameter of package/two_words 'margn'; did you mean 'margin'",
        ),
        ({"labels": 1}, "package/two_words: labels is a positional argument; allowed as options: "),
        ({"titles": 1}, "unknown hyper-parameter of package/two_words 'titles'; "),
        ({}, "package/two_words: scale is missing; allowed: a valid integer"),
        ({"scale": 0}, "package/two_words: scale is 0; allowed: greater than or equal to 1"),
        ({"margin": "big"}, "package/two_words: margin is 'big'; allowed: a valid number"),
        ({"sizes": []}, r"package/two_words: sizes is \[\]; allowed: a list with at least"),
        (
            {"limit": -1},
            "package/two_words: limit is -1; allowed: greater than 0",
        ),
        (
            {"watched": ["x"]},
            r"package/two_words: watched is \['x'\]; allowed: a metric",
        ),
        ({"margin": "a\nb" * 99}, r"package/two_words: margin is 'a\\nba.*\.\.\.; allowed: "),
    ],
)
def test_what_is_wrong_is_one_line(package, given, said):
    with pytest.raises(UserError, match=f"^{said}") as error:
        registry.check_options(package, "two_words", given)
    assert "\n" not in str(error.value)


def test_facts_go_to_the_methods_that_ask_for_them():
    loss = registry.build(
        "losses", "proxy_anchor", context={"num_classes": 3, "embedding_dim": 2, "x": 1}, margin=0.2
    )
    assert [tuple(parameter.shape) for parameter in loss.parameters()] == [(3, 2)]
    assert loss.margin == 0.2


def test_what_a_part_is_given_is_checked_before_it_is_built(package):
    with pytest.raises(UserError, match=r"^package/two_words: scale is 0; "):
        registry.build(package, "two_words", scale=0)

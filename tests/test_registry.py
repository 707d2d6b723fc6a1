"""Parts are found by the name of their file, and checked without importing them."""

import pytest
from dmlbench import registry
from dmlbench.errors import UserError


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A room with one part, `two_words`, and broken ones."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "_shared.py").write_text("raise AssertionError('not to be imported')")
    (tmp_path / "room" / "empty.py").write_text("")
    (tmp_path / "room" / "two_words.py").write_text(
        "raise AssertionError('not to be imported')\n"
        "VERSION = 3\n"
        "class TwoWords:\n"
        "    def __init__(self, labels, *, margin: NotNegative = 1 / 4, scale: Count,\n"
        "        sizes: Sequence[int] = (1, 2), watched: list[Metric] | None = None,\n"
        "        limit: Annotated[float, Interval(-1, 2, open='low')] | Infinity = float('inf'),\n"
        "        titles: Fact[pd.DataFrame] = None): pass\n"
        "    def forward(self, x, tuples: Pairs | None = None): pass\n"
    )
    (tmp_path / "room" / "bare.py").write_text(
        "class Bare:\n    def __init__(self, *, margin=0.1): pass\n"
    )
    (tmp_path / "room" / "strange.py").write_text(
        "class Strange:\n    def __init__(self, *, margin: Tensor = 0.1): pass\n"
    )
    monkeypatch.setattr(registry, "_LIBRARY", tmp_path)
    cached = [function for function in vars(registry).values() if hasattr(function, "cache_clear")]
    for function in cached:
        function.cache_clear()
    yield "room"
    for function in cached:
        function.cache_clear()


def test_parts_are_files(room):
    assert registry.available(room) == ("bare", "empty", "strange", "two_words")


def test_options_are_keyword_only_arguments(room):
    names = ("margin", "scale", "sizes", "watched", "limit", "titles")
    assert registry.hyperparameters(room, "two_words") == names


def test_declarations_are_read_from_the_source(room):
    options = registry.options(room, "two_words")
    defaults = {key: option.default for key, option in options.items() if not option.required}
    assert defaults == {
        "margin": 0.25,
        "sizes": (1, 2),
        "watched": None,
        "limit": float("inf"),
        "titles": None,
    }
    assert [key for key, option in options.items() if option.is_fact] == ["titles"]


def test_options_of_a_kind_are_found_in_lists_too(room):
    assert registry.options_of_kind(room, "two_words", "Metric") == ("watched",)
    assert registry.options_of_kind(room, "two_words", "Count") == ("scale",)


def test_annotations_are_read_from_the_source(room):
    assert registry.annotation(room, "two_words", "forward", "tuples") == "Pairs | None"
    assert registry.annotation(room, "two_words", "forward", "nothing") is None


def test_a_version_is_read_from_the_source(room):
    assert registry.version(room, "two_words") == 3
    assert registry.version(room, "empty") == 1


def test_an_unknown_name_lists_near_matches(room):
    with pytest.raises(UserError, match=r"unknown room 'two_word'; did you mean 'two_words'"):
        registry.check(room, "two_word", {})


def test_a_file_without_its_class_is_named(room):
    with pytest.raises(UserError, match=r"room/empty\.py defines no class Empty"):
        registry.check(room, "empty", {})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bare", "room/bare: margin has no annotation; allowed: see dmlbench.values"),
        ("strange", "room/strange: the declaration of margin has 'Tensor'; allowed: "),
    ],
)
def test_an_option_that_is_not_declared_is_named(room, name, said):
    with pytest.raises(UserError, match=f"^{said}"):
        registry.check(room, name, {})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"margn": 1}, "unknown hyper-parameter of room/two_words 'margn'; did you mean 'margin'"),
        ({"titles": 1}, "unknown hyper-parameter of room/two_words 'titles'; "),
        ({}, "room/two_words: scale is missing; allowed: an integer of 1 or more"),
        ({"scale": 0}, "room/two_words: scale is 0; allowed: an integer of 1 or more"),
        ({"margin": "big"}, "room/two_words: margin is 'big'; allowed: a finite number of 0 or"),
        ({"sizes": []}, r"room/two_words: sizes is \[\]; allowed: a list, each an integer"),
        ({"limit": -1}, "room/two_words: limit is -1; allowed: a finite number above -1 and up to"),
        ({"watched": ["x"]}, r"room/two_words: watched is \['x'\]; allowed: a list, each a metric"),
        ({"margin": "a\nb" * 99}, r"room/two_words: margin is 'a\\nba.*\.\.\.; allowed: "),
    ],
)
def test_what_is_wrong_is_one_line(room, given, said):
    with pytest.raises(UserError, match=f"^{said}") as error:
        registry.check(room, "two_words", given)
    assert "\n" not in str(error.value)


def test_facts_go_to_the_methods_that_ask_for_them():
    loss = registry.build(
        "losses", "proxy_anchor", context={"num_classes": 3, "embedding_dim": 2, "x": 1}, margin=0.2
    )
    assert [tuple(parameter.shape) for parameter in loss.parameters()] == [(3, 2)]
    assert loss.margin == 0.2


def test_what_a_part_is_given_is_checked_before_it_is_built(room):
    with pytest.raises(UserError, match=r"^room/two_words: scale is 0; "):
        registry.build(room, "two_words", scale=0)

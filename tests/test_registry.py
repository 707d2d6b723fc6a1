"""Methods are found by the name of their file, and checked without importing them."""

import pytest
from dmlbench import registry
from dmlbench.errors import UserError


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A room with one method, `two_words`."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "_shared.py").write_text("raise AssertionError('not to be imported')")
    (tmp_path / "room" / "empty.py").write_text("")
    (tmp_path / "room" / "two_words.py").write_text(
        "raise AssertionError('not to be imported')\n"
        "class TwoWords:\n"
        "    def __init__(self, labels, *, margin=0.1, scale: float = 2): pass\n"
        "    def forward(self, x, tuples: Pairs | None = None): pass\n"
    )
    monkeypatch.setattr(registry, "_LIBRARY", tmp_path)
    cached = (registry.available, registry.hyperparameters, registry.annotation)
    for function in cached:
        function.cache_clear()
    yield "room"
    for function in cached:
        function.cache_clear()


def test_methods_are_files(room):
    assert registry.available(room) == ("empty", "two_words")


def test_hyperparameters_are_keyword_only_arguments(room):
    assert registry.hyperparameters(room, "two_words") == ("margin", "scale")


def test_annotations_are_read_from_the_source(room):
    assert registry.annotation(room, "two_words", "forward", "tuples") == "Pairs | None"
    assert registry.annotation(room, "two_words", "forward", "nothing") is None


def test_an_unknown_name_lists_near_matches(room):
    with pytest.raises(UserError, match=r"unknown room 'two_word'; did you mean 'two_words'"):
        registry.check(room, "two_word", {})


def test_an_unknown_hyperparameter_lists_near_matches(room):
    with pytest.raises(UserError, match=r"'margn'; did you mean 'margin'\? allowed: margin, scale"):
        registry.check(room, "two_words", {"margn": 1})


def test_a_file_without_its_class_is_named(room):
    with pytest.raises(UserError, match=r"room/empty\.py defines no class Empty"):
        registry.check(room, "empty", {})


def test_facts_go_to_the_methods_that_ask_for_them():
    loss = registry.build(
        "losses", "proxy_anchor", context={"num_classes": 3, "embedding_dim": 2, "x": 1}, margin=0.2
    )
    assert [tuple(parameter.shape) for parameter in loss.parameters()] == [(3, 2)]
    assert loss.margin == 0.2

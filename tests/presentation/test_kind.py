"""What all kinds of tables and figures have in common."""

from dataclasses import fields

import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.presentation.kind import Kind

SHIPPED = [
    (package, name)
    for package in ("presentation/tables", "presentation/figures")
    for name in registry.available(package)
]
FACTS = {field.name for field in fields(Kind)}


class Counted(Kind):
    """A kind outside the library: one option with a default, one without."""

    metric: str
    least: int = 1

    def __call__(self, scores):
        return f"{self.title}: {(scores.metric == self.metric).sum()}"


@pytest.mark.parametrize(("package", "name"), SHIPPED)
def test_no_option_has_the_name_of_a_fact(package, name):
    assert not registry.options(package, name).keys() & FACTS


@pytest.mark.parametrize(("package", "name"), SHIPPED)
def test_a_configuration_gives_no_fact(package, name):
    with pytest.raises(UserError, match=r"unknown hyper-parameter of .* 'title'"):
        registry.check_options(package, name, {"title": "mine"})


def test_a_subclass_is_a_dataclass_of_facts_and_options():
    kind = Counted(title="T", metric="nmi")
    assert kind(pd.DataFrame({"metric": ["nmi", "f1", "nmi"]})) == "T: 2"
    assert kind.least == 1
    with pytest.raises(TypeError, match="metric"):
        Counted(title="T")
    with pytest.raises(AttributeError):
        kind.metric = "f1"


def test_methods_are_with_and_without_the_baseline_and_with_a_year():
    kind = Kind(methods=["a", "untrained", "b"], years={"b": 2020})
    assert kind.compared == ["a", "b"]
    assert kind.everyone == ["a", "b", "untrained"]
    assert kind.dated == ["b"]
    assert [kind.year(method, " ({})") for method in ("a", "b")] == ["", " (2020)"]
    assert Kind(methods=["a"], baseline=None).everyone == ["a"]


def test_a_legend_leaves_out_what_all_variants_share():
    kind = Kind(titles={"a": "A", "b": "B", "tuned": "searched"})
    keys = [("a", "tuned,miner=D"), ("b", "tuned"), ("b", "tuned,miner=R")]
    assert list(kind.legend(keys).values()) == ["A, miner=D", "B", "B, miner=R"]
    assert kind.legend(iter(keys[:1])) == {keys[0]: "A, searched, miner=D"}
    assert list(kind.legend([("a", "miner=D"), ("b", "miner=R")]).values()) == [
        "A, miner=D",
        "B, miner=R",
    ]


def test_keys_are_in_the_order_of_the_methods_then_of_appearance():
    keys = [("new", ""), ("b", "x"), ("a", ""), ("b", ""), ("b", "x")]
    found = Kind(methods=["a", "b"]).in_order(keys)
    assert found == [("a", ""), ("b", "x"), ("b", ""), ("new", "")]

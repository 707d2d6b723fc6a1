"""What all kinds of tables and figures have in common."""

from dataclasses import fields

import pandas as pd
import pytest
from dmlbench import part_files, registry
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.choices import FigureKind
from dmlbench.presentation.kind import Kind

SHIPPED = [
    (package, name)
    for package in ("presentation/tables", "presentation/figures")
    for name in registry.available(package)
]
FIGURES = {
    "critical_difference": {"metric", "printed"},
    "force_field": {"arrays", "figure", "draws", "columns", "scale"},
    "metric_correlations": {"metrics", "printed"},
    "point_spaces": {"arrays", "spaces", "metrics", "circle"},
    "rank_by_year": {"metric", "printed"},
    "recall_by_embedding_dim": {"metric", "axis", "printed"},
    "recall_by_method": {"metrics", "embedding_dim", "printed"},
    "recall_by_network": {"metric", "printed"},
    "relative_distributions": {"axis", "metrics", "printed"},
    "relative_improvement": {"references", "metric", "printed"},
    "relative_scores": {"axes", "metrics", "reference"},
    "scatter_with_correlation": {"x", "y"},
    "scores_by_axis": {"axis", "metrics", "panel", "over", "change", "band", "log", "role"},
    "scores_by_form": {"metric", "printed"},
    "scores_by_year": {"metric", "fold", "printed"},
    "scores_with_change": {"change", "metric", "printed"},
    "singular_spectra": {"arrays", "change", "spectra", "first", "metric"},
}
OPTIONS = {
    "force_field": {"figure": "3_4"},
    "metric_correlations": {"metrics": ["nmi"]},
    "point_spaces": {"spaces": [{"array": "flat", "title": "T"}]},
    "recall_by_method": {"metrics": ["recall_at_1"], "embedding_dim": 64},
    "relative_distributions": {"axis": "p", "metrics": ["nmi"]},
    "relative_improvement": {"references": ["triplet"], "metric": "nmi"},
    "relative_scores": {"axes": ["p"], "metrics": ["nmi"], "reference": {"network": "convnet"}},
    "scatter_with_correlation": {"x": ["rho"]},
    "scores_by_axis": {"axis": "p", "metrics": ["nmi"]},
    "scores_by_form": {"metric": "nmi"},
    "scores_by_year": {"metric": "nmi"},
    "scores_with_change": {"change": ["p"]},
    "singular_spectra": {"change": ["p"]},
}
"""Kind of figure -> the options that it needs."""
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


@pytest.mark.parametrize("name", FIGURES)
def test_a_kind_of_figure_of_a_users_study_keeps_its_name_and_options(name):
    assert FIGURES[name] <= registry.options("presentation/figures", name).keys()
    choice = FigureKind.model_validate({"name": name} | OPTIONS.get(name, {}))
    assert (choice.name, choice.hyperparameters) == (name, OPTIONS.get(name, {}))


def test_a_file_of_figures_has_a_kind_for_each_public_class(tmp_path, monkeypatch):
    folder = tmp_path / "presentation/figures"
    folder.mkdir(parents=True)
    (folder / "_shared.py").write_text("class Shared: ...")
    (folder / "mine.py").write_text(
        "class _Own: ...\nclass LinesOfX:\n    RANKS = 'dated'\n    x: int = 1\nclass Other: ...\n"
    )
    (folder / "roc_curve.py").write_text("class ROCCurve: ...")
    readers = [*vars(registry).values(), *vars(part_files).values()]
    caches = [each for each in readers if hasattr(each, "cache_clear")]
    with monkeypatch.context() as patch:
        patch.setattr(part_files, "_LIBRARY", tmp_path)
        for cached in caches:
            cached.cache_clear()
        package = "presentation/figures"
        assert registry.available(package) == ("lines_of_x", "other", "roc_curve")
        assert part_files.file_of(package, "other").name == "mine.py"
        assert list(registry.options(package, "lines_of_x")) == ["x"]
        constants = [registry.constant(package, name, "RANKS") for name in ("lines_of_x", "other")]
        assert constants == ["dated", None]
    for cached in caches:
        cached.cache_clear()


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

"""Before a row is trained, each view that is asked for is made from made-up scores."""

import subprocess
import sys

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.views.dry_render import DryRender
from dmlbench.presentation import made_up
from dmlbench.registry import available
from project import REPOSITORY

METRIC, METRICS = {"metric": "recall_at_1"}, {"metrics": ["recall_at_1"]}
BY_METHOD = {"name": "scores_by_method"} | METRICS
SPREAD = {"name": "method_spread", "against": "base"} | METRICS
DIFFERENCES = {"name": "paired_differences", "between": "method"} | METRICS
OVER_TRIPLET, OVER_MARGIN = (DIFFERENCES | {"against": name} for name in ("triplet", "margin"))
SIZES, NETWORKS = {"name": "recall_by_embedding_dim"}, {"name": "recall_by_network"} | METRIC
LINES = {"name": "scores_by_axis", "axis": "embedding_dim"} | METRICS
RANKS, YEARS = {"name": "critical_difference"} | METRIC, {"name": "scores_by_year"} | METRIC
FORMS = {"name": "scores_by_form"} | METRIC
GAIN = {"name": "relative_improvement", "references": ["triplet"]} | METRIC
MATRIX = {"name": "metric_correlations", "metrics": ["recall_at_1", "map_at_r"]}
"""Kinds of tables and figures."""

ONE_SIZE, TWO_NETWORKS = {"embedding_dim": 8}, {"network": ["convnet3", "convnet4_tiny"]}
"""Changes of a grid of three methods, two sizes and two seeds."""


@pytest.fixture
def check(configured, tmp_path):
    """Check view `one` of the study; its file is in a folder that exists."""

    def checked(kind: dict, **view) -> None:
        package = "tables" if kind["name"] in available("presentation/tables") else "figures"
        described = {"title": "T", "kind": kind} | view
        configured.change("studies/mine", [package], {"one": described})
        DryRender(configured.load(), tmp_path / ".rendered").check("mine", package[:-1], "one")

    return checked


@pytest.mark.parametrize(
    ("kind", "grid", "said"),
    [
        (BY_METHOD, {}, None),
        (BY_METHOD, TWO_NETWORKS, "several values of network (convnet3, convnet4_tiny)"),
        (OVER_TRIPLET, ONE_SIZE, None),
        (OVER_TRIPLET, {}, "several values of embedding_dim (8, 16)"),
        (OVER_MARGIN, ONE_SIZE, "no scores of method margin to compare"),
        (SPREAD, {}, None),
        (SPREAD, {"method": ["triplet"]}, "1 methods per seed; allowed: the same methods"),
        (SIZES, {}, None),
        (SIZES, TWO_NETWORKS, "several values of network (convnet3, convnet4_tiny); allowed: one"),
        (NETWORKS, TWO_NETWORKS | ONE_SIZE, None),
        (NETWORKS, TWO_NETWORKS, "several values of embedding_dim (8, 16); allowed: one"),
        (RANKS, TWO_NETWORKS, None),
        (RANKS, {"method": ["untrained", "triplet"]}, "comparison of 1 methods; allowed: at least"),
        (LINES, {}, None),
        (LINES, TWO_NETWORKS, "has several scores at embedding_dim=8; allowed: one"),
        (FORMS, {}, "no scores of recall_at_1 of combined folds; allowed: rows with fold"),
        (GAIN, {}, "no scores of triplet and of another method; allowed: both, with fold"),
        (YEARS, {}, None),
        (YEARS, {"method": ["untrained"]}, "no scores of recall_at_1 with fold none of methods"),
        (MATRIX, {}, "glyphs: correlations of recall_at_1, map_at_r need 3 points"),
    ],
)
def test_a_kind_that_cannot_show_the_rows_is_one_line(check, configured, kind, grid, said):
    configured.grid(**grid)
    if said is None:
        check(kind)
        return
    with pytest.raises(UserError) as error:
        check(kind)
    where = f".one: {kind['name']} cannot show the rows of `where`: "
    assert "studies/mine.yaml: " in str(error.value)
    assert where in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_measures_have_scores_and_arrays(check, configured):
    configured.change("studies/mine", ["measures"], ["training_structure"])
    kind = {"name": "correlations", "x": ["pi_ratio"]}
    one_size = {"where": ONE_SIZE, "measures": ["training_structure"]}
    check(kind, **one_size)
    with pytest.raises(UserError, match="2 methods and variants have both pi_ratio of train"):
        check(kind, **one_size | {"where": {"method": ["contrastive", "triplet"]} | ONE_SIZE})
    spectra = {"name": "singular_spectra", "change": ["regularizer"]}
    check(spectra, **one_size)


def test_a_study_s_tournament_is_checked(configured, tmp_path):
    configured.change("studies/mine", ["runs", 0, "recipe"], ["glyphs", "demo"])
    render = DryRender(configured.load(), tmp_path / ".rendered")
    with pytest.raises(UserError, match=r"mine\.yaml: tournament cannot show .* several|2 recipes"):
        render.check("mine", "tournament")


def test_a_view_is_made_again_when_something_that_it_is_made_from_changes(
    check, configured, tmp_path, monkeypatch
):
    made = []
    monkeypatch.setattr(made_up, "render", lambda kind, **parts: made.append(parts["facts"]["id"]))

    def count() -> int:
        check(BY_METHOD)
        return len(made)

    assert [count(), count()] == [1, 1]
    configured.grid(seed=[0, 1, 2])
    assert [count(), count()] == [2, 2]
    configured.change("datasets", ["glyphs", "metrics"], ["recall_at_1"])
    assert [count(), count()] == [3, 3]
    monkeypatch.setattr("dmlbench.plan.views.dry_render.stage_digest", lambda *code: str(code))
    assert [count(), count()] == [4, 4]
    (tmp_path / ".rendered").write_text("{torn")
    assert [count(), count()] == [5, 5]


def test_a_printed_number_that_changes_makes_its_views_again(check, configured, monkeypatch):
    made = []
    monkeypatch.setattr(made_up, "render", lambda kind, **parts: made.append(kind))
    folder = configured.folder / "reference" / "mine"
    configured.folder.joinpath("reference").unlink()
    folder.mkdir(parents=True)
    table = folder / "table_1.csv"
    table.write_text("one")
    kind = {"name": "scores_next_to_printed", **METRICS, "printed": ["1"]}
    for text in ("one", "one", "two", "two"):
        table.write_text(text)
        check(kind)
    assert len(made) == 2


def test_what_is_refused_is_refused_again(check, configured):
    configured.grid(**TWO_NETWORKS)
    for _ in range(2):
        with pytest.raises(UserError, match="several values of network"):
            check(BY_METHOD)


def test_without_a_results_folder_nothing_is_written(configured, tmp_path):
    DryRender(configured.load(), tmp_path / "no" / ".rendered").check("mine", "tournament")
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_only_a_view_that_is_made_loads_pandas(tmp_path):
    code = (
        "import sys; from pathlib import Path; from dmlbench import plan\n"
        "from dmlbench.plan.views.dry_render import DryRender\n"
        "values = {'pathvars': {'results': 'results'}, 'studies': ['demo']}\n"
        "loaded = plan.reload(values, Path('config'))\n"
        f"DryRender(loaded, Path('{tmp_path}/.rendered')).check('demo', 'tournament')\n"
        "print({'pandas', 'numpy', 'matplotlib', 'torch'} & set(sys.modules) or 'none')"
    )
    environment = {"PYTHONPATH": str(REPOSITORY / "workflow" / "scripts")}
    command = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert "pandas" in first
    assert "torch" not in first
    assert second == "none\n"


def test_a_name_of_where_that_no_row_could_have(configured):
    table = {"title": "T", "where": {"method": ["triplet", "tripled"]}, "kind": BY_METHOD}
    configured.change("studies/mine", ["tables"], {"one": table})
    said = "mine.yaml: tables.one.where.method: unknown method 'tripled'; did you mean 'triplet' "
    assert said in configured.problem()


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({"kind": BY_METHOD, "searches": ["small"]}, "one.searches: kind scores_by_method shows"),
        ({"kind": "search_outcomes"}, "one: kind search_outcomes shows searches; allowed: with"),
    ],
)
def test_only_kinds_of_searches_show_searches(configured, view, said):
    configured.change("studies/mine", ["tables"], {"one": {"title": "T"} | view})
    assert said in configured.problem()


def test_searches_have_trials(check):
    check({"name": "search_outcomes"}, searches=["small"])

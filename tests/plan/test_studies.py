"""Optional parts of a study, required parts of its views, and experiments."""

from dataclasses import replace

import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.plan.views import pages, views
from project import CONFIG

EXPERIMENTS = {
    "title": "Toys",
    "question": "Which?",
    "description": "Of points.",
    "experiments": ["karaman2021_input_space"],
    "tables": {
        "points": {
            "title": "Points",
            "kind": {"name": "scores_next_to_printed", "metrics": ["recall_at_1"]},
            "experiments": ["karaman2021_input_space"],
        }
    },
}
TABLE = {"title": "T", "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]}}
MAP = {"title": "M", "where": {"method": "contrastive", "embedding_dim": 8, "seed": 0}}


@pytest.fixture
def points(configured):
    """The study `mine` with an experiment and no runs."""
    configured.write("studies/mine", EXPERIMENTS)
    return configured


def test_the_configuration_of_a_page_follows_from_its_runs(configured):
    def digest():
        return pages.page(configured.load(), "mine")["protocol"]["Configuration"]

    first = digest()
    configured.edit("studies/mine", lambda study: study.update(title="Another title"))
    assert digest() == first
    configured.edit("studies/mine", lambda study: study["runs"][0].update(seed=[0, 2]))
    assert digest() != first


def test_a_study_of_experiments_has_neither_runs_nor_tournament(points):
    loaded = points.load()
    assert loaded.rows("mine") == loaded.runs("mine") == []
    assert views.facts(loaded, "mine", "table", "points")["selection"] == "none"
    assert pages.page(loaded, "mine")["protocol"] == {}
    files = pages.files(loaded, "mine")
    assert not [file for file in files if "tournament" in file or "timings" in file]
    assert any(file.endswith("tables/points.md") for file in files)


def test_a_study_without_a_tournament_ranks_nothing(configured):
    configured.edit("studies/mine", lambda study: study.pop("tournament"))
    loaded = configured.load()
    assert loaded.rows("mine")
    assert "metric" not in pages.page(loaded, "mine")
    assert views.ranked_methods(loaded, "mine") == []


def test_a_study_on_a_base_has_its_rows_with_another_data_set(configured):
    changes = {"base": "mine", "dataset": "cub200", "title": "On birds"}
    configured.write("studies/other", changes)
    loaded = configured.load("mine", "other")
    base, other = loaded.studies["mine"], loaded.studies["other"]
    assert (other.title, other.question) == ("On birds", base.question)
    assert other.tournament == base.tournament
    moved = [replace(row, study="other", dataset="cub200") for row in loaded.rows("mine")]
    assert loaded.rows("other") == moved


def test_a_base_without_runs_has_no_rows_to_move(points):
    points.write("studies/other", {"base": "mine", "dataset": "cub200"})
    assert points.load("other").rows("other") == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": "nine"}, r"other\.yaml: base: unknown study 'nine'; did you mean 'mine'"),
        ({"base": "other"}, r"other\.yaml: base: other builds on other; allowed: a study that"),
        ({"base": "third"}, r"third\.yaml: base: other builds on third; allowed: a study that"),
        (
            {"base": "mine", "runs": [{"dataset": "glyphs"}]},
            r"other\.yaml: runs\.0\.",
        ),
        ({"base": "broken", "dataset": "omniglot"}, r"broken\.yaml: runs: 3: "),
        ({"base": ["mine"]}, r"other\.yaml: base: unknown study"),
    ],
)
def test_a_base_that_does_not_fit_is_one_line(configured, changes, said):
    configured.write("studies/third", {"base": "other"})
    configured.write("studies/broken", {"base": "mine", "runs": 3})
    configured.write("studies/other", changes)
    with pytest.raises(UserError, match=said):
        configured.load("other")


def test_a_data_set_of_all_rows_needs_a_base(configured):
    configured.edit("studies/mine", lambda study: study.update(dataset="omniglot"))
    with pytest.raises(UserError, match=r"mine\.yaml: dataset: is for a study with a base"):
        configured.load()


def folder(points):
    return points.load().experiments["karaman2021_input_space"].folder("karaman2021_input_space")


def test_an_experiment_is_known_by_its_options_and_version(points, monkeypatch):
    before = folder(points)
    points.change("experiments", ["karaman2021_input_space", "title"], "Another")
    points.change("experiments", ["karaman2021_input_space", "seeds"], [0, 7])
    points.change("experiments", ["karaman2021_input_space", "threads"], 2)
    assert folder(points) == before
    options = registry.options("experiments", "gaussian_classes")
    key, option = next(
        (key, option) for key, option in options.items() if type(option.default) is int
    )
    choice = {"name": "gaussian_classes", key: option.default}
    points.change("experiments", ["karaman2021_input_space", "experiment"], choice)
    assert folder(points) == before
    points.change(
        "experiments", ["karaman2021_input_space", "experiment"], choice | {key: option.default + 1}
    )
    other = folder(points)
    assert other != before
    monkeypatch.setattr(registry, "version", lambda package, name: 99)
    assert folder(points) not in (before, other)


@pytest.mark.parametrize(
    ("file", "keys", "value", "parts"),
    [
        (
            "studies/mine",
            ["experiments"],
            ["karaman2021_input_spaces"],
            ["experiments", "'karaman2021_input_space'"],
        ),
        (
            "studies/mine",
            ["tables", "points", "experiments"],
            ["random_embeddings"],
            [
                "mine.yaml: tables.points.experiments",
                "'random_embeddings'",
                "karaman2021_input_space",
            ],
        ),
        (
            "experiments",
            ["karaman2021_input_space", "experiment"],
            {"name": "gaussian_classes", "clases": 3},
            ["experiments.yaml: karaman2021_input_space.experiment", "'clases'"],
        ),
        (
            "experiments",
            ["karaman2021_input_space", "seeds"],
            [],
            ["karaman2021_input_space.seeds", "at least 1"],
        ),
        ("studies/mine", ["experiments"], [], ["has neither runs nor experiments"]),
        (
            "studies/mine",
            ["tables", "points", "kind"],
            {"name": "constants", "numbers": [{"label": "R@1", "metric": "recal_at_1"}]},
            ["mine.yaml: tables.points.kind", "'recal_at_1'", "'recall_at_1'"],
        ),
    ],
)
def test_what_is_wrong_with_experiments_is_one_line(points, file, keys, value, parts):
    points.change(file, keys, value)
    message = points.problem()
    assert all(part in message for part in parts), message


def test_a_map_has_the_name_of_a_figure_and_no_figure_its_name(configured):
    configured.change("studies/mine", ["embedding_maps"], {"01": MAP})
    targets = pages.targets(configured.load(), "mine")
    assert targets == {
        "mine_figure_01": [
            f"results/studies/mine/figures/map_01.{face}" for face in ("png", "svg", "pdf")
        ]
    }
    figure = {"title": "F", "kind": "recall_by_embedding_dim"}
    configured.change("studies/mine", ["figures"], {"01": figure})
    assert "embedding_maps.01: is the name of a figure as well" in configured.problem()


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        (TABLE | {"measures": ["training_structure"]}, ["measures", "'training_structure'"]),
        (TABLE | {"where": {"method": "margin"}}, ["where", "fits none of the study's 12 rows"]),
        (TABLE | {"searches": ["smal"]}, ["searches", "'smal'", "'small'"]),
    ],
)
def test_a_view_must_show_what_the_study_has(configured, table, parts):
    configured.change("studies/mine", ["tables"], {"a": table})
    message = configured.problem()
    assert all(part in message for part in ["mine.yaml: tables.a.", *parts]), message


METRICS = {"name": "scores_by_method", "metrics": ["recall_at_1", "pi_ratio"]}


def test_a_metric_of_a_view_is_one_of_its_rows_or_measures(configured):
    configured.change("studies/mine", ["tables"], {"a": TABLE | {"kind": METRICS}})
    message = configured.problem()
    assert "mine.yaml: tables.a.kind.metrics: unknown metric of its data sets 'pi_ratio'" in message
    assert "recall_at_8" in message
    configured.change("studies/mine", ["measures"], ["training_structure"])
    configured.change("studies/mine", ["tables", "a", "measures"], ["training_structure"])
    configured.load()


def test_a_metric_that_is_a_default_is_checked_too(configured):
    configured.change("datasets", ["glyphs", "metrics"], ["map_at_r"])
    configured.change("studies/mine", ["tournament"], {"metric": "map_at_r"})
    configured.load()
    figure = {"title": "F", "kind": "recall_by_embedding_dim"}
    configured.change("studies/mine", ["figures"], {"a": figure})
    assert "figures.a.kind.metric: unknown metric" in configured.problem()


def test_what_ranks_is_scored_on_all_of_its_data_sets(configured):
    configured.change("studies/mine", ["tournament"], {"metric": "nmi"})
    assert "mine.yaml: tournament.metric: unknown metric" in configured.problem()
    configured.change("datasets", ["glyphs", "metrics"], ["recall_at_1", "nmi"])
    configured.load()


def test_the_study_without_its_baseline_has_none(configured):
    assert views.baseline(configured.load(), "mine") == "untrained"
    configured.grid(method=["contrastive"])
    assert views.baseline(configured.load(), "mine") is None


def test_one_training_cannot_take_part_in_a_tournament_under_two_names(configured):
    configured.edit("methods", lambda methods: methods.update(twin=methods["contrastive"]))
    names = ["contrastive", "twin"]
    configured.edit("studies/mine", lambda study: study["runs"][0].update(method=names))
    configured.change("studies/mine", ["tournament", "where"], {"method": names})
    problem = "mine.yaml: tournament.where: contrastive and twin are one training here"
    assert problem in configured.problem()


@pytest.mark.parametrize(
    "file", sorted((CONFIG / "studies").glob("*.yaml")), ids=lambda file: file.stem
)
def test_a_study_can_be_read_without_scrolling_sideways(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 110] == []

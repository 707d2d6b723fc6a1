"""Published runs that stand for rows: which ones, and what is planned without them."""

from pathlib import Path

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.costs.progress import of_study
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.graph.inputs import Inputs
from dmlbench.plan.specs import published_runs
from dmlbench.plan.views import score_files, views
from project import CONFIG, load_studies
from scipy import stats

OLD, NEW = ["contrastive", "triplet"], "margin"
EXTENDED = "psomas2020_birds_extended"
CLASSES, SCORES = "classes.parquet", "scores.parquet"


class Published:
    """A study `old` in results/published, and a study `mine` that adds a loss to it."""

    def __init__(self, configured, **grid):
        self.configured, self.grid = configured, {"method": OLD} | grid
        self.folder = configured.folder.parent / "results" / "published"
        self.publish()
        configured.grid(**self.grid | {"method": [*OLD, NEW]})
        configured.change("studies/mine", ["published_runs"], ["old"])
        configured.change("studies/mine", ["tournament"], {"where": {"method": [*OLD, NEW]}})

    def publish(self):
        """Write where the runs of `old` are; the files of scores themselves are not read here."""
        self.configured.grid(**self.grid)
        self.configured.change("studies/mine", ["published_runs"], [])
        loaded = self.configured.load()
        self.runs = [loaded.run(row).folder for row in loaded.rows("mine")]
        rows = [row.columns | {"run": loaded.run(row).folder} for row in loaded.rows("mine")]
        (self.folder / "old").mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(self.folder / "old" / "runs.csv", index=False)
        for name in (SCORES, CLASSES):
            (self.folder / "old" / name).touch()

    def load(self, results="results"):
        return self.configured.load(pathvars={"results": str(results)})


@pytest.fixture
def published(configured):
    return Published(configured)


def trained(plan):
    return {stage.what for stage in of_study(plan, "mine") if stage.rule == "train"}


def inputs(plan):
    return Inputs(RunIndex(plan, Path("plan.json"), fresh=True))


def test_only_new_rows_are_planned(published):
    plan = published.load()
    assert set(published_runs.standing(plan, "mine")) == set(published.runs)
    new = {plan.run(row).folder for row in plan.rows("mine") if row.method == NEW}
    assert trained(plan) == new
    assert len(new) == 4
    text = published_runs.said(plan, "mine")
    assert text == "published scores stand for 8 of 12 runs (old)"


def test_scores_are_those_of_the_published_study(published):
    plan = published.load()
    files = dict(zip(map(plan.run, plan.rows("mine")), inputs(plan)._scores("mine"), strict=True))
    long_table = str(published.folder / "old" / SCORES)
    own = {run.folder: file for run, file in files.items() if run.folder not in published.runs}
    assert {files[run] for run in files if run.folder in published.runs} == {long_table}
    assert own == {run: f"<results>/runs/{run}/scores.parquet" for run in own}
    assert views.facts(plan, "mine", "tournament", None)["published"].endswith("runs (old)")


def test_a_study_that_does_not_ask_for_it_trains_everything(published):
    published.configured.change("studies/mine", ["published_runs"], [])
    plan = published.load()
    assert len(trained(plan)) == 12
    assert "published" not in views.facts(plan, "mine", "tournament", None)


def test_what_was_scored_here_stands_for_itself(published, tmp_path):
    own = tmp_path / "own" / paths.made("evaluate", "scores", run=published.runs[0])
    own.parent.mkdir(parents=True)
    own.touch()
    assert published.runs[0] in trained(published.load(tmp_path / "own"))
    assert len(published_runs.standing(published.load(tmp_path / "own"), "mine")) == 7


def test_another_spec_is_not_taken_for_the_published_one(published):
    assert published_runs.trained_again(published.load(), "mine") == ""
    published.configured.change("recipes", ["glyphs", "epochs"], 3)
    plan = published.load()
    assert len(trained(plan)) == 12
    said = published_runs.trained_again(plan, "mine")
    assert said.startswith("8 runs are published with another spec, other data or an earlier ver")
    assert said.endswith(f"is {published.runs[0]} there")


def test_classes_stand_for_queries_over_splits_alone(configured):
    swapped = {"name": "half", "swapped": True}
    configured.change("datasets", ["glyphs", "splits", "half_swapped"], swapped)
    published = Published(configured, split=["half", "half_swapped"])
    plan = published.load()
    rows, files = zip(*score_files.answers_over_splits(plan, "mine"), strict=True)
    assert len(rows) == 24
    taken = [file for row, file in zip(rows, files, strict=True) if row["run"] in published.runs]
    assert set(taken) == {str(published.folder / "old" / CLASSES)}
    assert inputs(plan).tournament("mine")["queries"] == [f.below("<results>") for f in files]
    (published.folder / "old" / CLASSES).unlink()
    again = published.load()
    assert [row["method"] for row, _ in score_files.answers_over_splits(again, "mine")] == [NEW] * 8
    assert inputs(again).tournament("mine")["queries"] == []


def test_the_smallest_difference_that_can_be_seen_is_known_before_training(tmp_path):
    empty = {"pathvars": {"results": str(tmp_path)}}
    loaded = load_studies("psomas2020_birds_swaps", EXTENDED, **empty)
    said = published_runs.detectable(loaded, EXTENDED)
    table = CONFIG.parent / "results/published/psomas2020_birds_swaps/tables/over_contrastive.csv"
    rows = pd.read_csv(table).query("panel == 'R@1'")
    half = ((rows["high"] - rows["low"]) / 2).median()
    assert f"intervals of ±{half:.1f} points of R@1 (median of 11, table over_contrastive)" in said
    assert f"truly {half * (stats.norm.ppf(0.8) / 1.959964 + 1):.1f} points apart" in said


def test_of_one_split_queries_are_not_published(published):
    assert inputs(published.load()).tournament("mine")["queries"] == []
    assert inputs(published.load()).aggregate("mine")["queries"] == []


def test_a_study_that_is_not_published_is_named(published):
    published.configured.change("studies/mine", ["published_runs"], ["odl"])
    with pytest.raises(UserError, match=r"mine\.yaml: published_runs.*'odl'; did you mean 'old'"):
        published_runs.standing(published.load(), "mine")

"""Searches through Snakemake at toy size."""

import shutil

import pandas as pd
import pytest
import yaml
from project import Project

pytestmark = pytest.mark.workflow

RUN = {
    "dataset": "glyphs",
    "network": "convnet3",
    "embedding_dim": 8,
    "method": "proxy_anchor",
    "recipe": "glyphs",
    "split": "fixed",
    "seed": 0,
}
SEARCH = {
    "title": "A toy search",
    "run": RUN,
    "strategy": "coordinate",
    "budget": 5,
    "workers": 2,
    "parameters": {
        "loss.margin": {"title": "margin λ", "low": 0, "high": 0.2, "step": 0.1},
        "loss.alpha": {"title": "scale α", "low": 0, "high": 64, "step": 32, "open": True},
    },
}
STUDY = {
    "title": "A study of searches",
    "question": "Which values?",
    "description": "Two searches.",
    "runs": [RUN],
    "tournament": {},
    "tables": {
        "15": {
            "title": "Optima",
            "kind": {"name": "search_optima", "printed_settings": ["15"]},
            "searches": ["mine", "mine_tpe"],
        },
        "16": {
            "title": "Strategies",
            "kind": {"name": "search_comparison", "printed": ["16"]},
            "searches": ["mine", "mine_tpe"],
        },
    },
}


class Workflow(Project):
    """A copy of the project with two searches on rehearsal data."""

    def __init__(self, folder):
        super().__init__(folder)
        config = folder / "config"
        self.searches = config / "searches.yaml"
        pruned = {"strategy": "tpe", "pruner": "median", "title": "A toy search by TPE"}
        self.write(self.searches, {"mine": SEARCH, "mine_tpe": SEARCH | pruned})
        self.write(config / "studies" / "searched.yaml", STUDY)
        reference = config / "reference"
        shutil.copytree(reference / "psomas2020", reference / "searched")
        self.change("datasets", "glyphs", splits={"fixed": {"name": "fixed", "validation": 0.25}})
        self.change("recipes", "glyphs", selection="best_validation_epoch")
        rehearsal = yaml.safe_load((config / "rehearsal.yaml").read_text())
        del rehearsal["rehearsal"]["searches"]
        values = yaml.safe_load((config / "config.yaml").read_text()) | rehearsal
        self.write(config / "config.yaml", values | {"studies": ["searched"]})

    def write(self, path, values):
        path.write_text(yaml.safe_dump(values, sort_keys=False))

    def change(self, catalogue, entry, **values):
        path = self.folder / "config" / f"{catalogue}.yaml"
        content = yaml.safe_load(path.read_text())
        content[entry] |= values
        self.write(path, content)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    workflow = Workflow(tmp_path_factory.mktemp("searches"))
    workflow.snakemake("searched_table_15", "searched_table_16")
    return workflow


def test_workers_share_the_trials(finished):
    for search in ("mine", "mine_tpe"):
        folder = finished.results / "searches" / search
        done = [
            trial
            for worker in sorted((folder / "workers").glob("*.yaml"))
            for trial in yaml.safe_load(worker.read_text())["trials"]
        ]
        trials = pd.read_parquet(folder / "trials.parquet")
        assert sorted(done) == list(trials["number"])
        assert len(trials) <= 5
    assert len(pd.read_parquet(finished.results / "searches/mine/trials.parquet")) == 4


def test_tables_show_what_was_found(finished):
    tables = finished.results / "studies" / "searched" / "tables"
    best = yaml.safe_load((finished.results / "searches" / "mine" / "best.yaml").read_text())
    optima = pd.read_csv(tables / "15.csv")
    assert list(optima["coordinate"]) == list(best["values"].values())
    assert list(optima["printed"]) == [0.1, 32]
    scores = pd.read_parquet(finished.results / "searches" / "mine" / "scores.parquet")
    kept = scores[(scores.role == "test") & (scores.metric == "recall_at_1")]
    (value,) = kept[kept.selection == "best_validation_epoch"]["value"]
    comparison = pd.read_csv(tables / "16.csv").set_index("Strategy")
    assert comparison["test"]["one at a time"] == pytest.approx(100 * value, abs=0.0051)
    assert list(comparison["test_printed"]) == [66.56, 66.56]


def test_nothing_is_left_to_do_and_a_title_searches_nothing_again(finished):
    assert "Nothing to be done" in finished.snakemake("--dry-run", "searched_table_16")
    text = finished.searches.read_text()
    finished.searches.write_text(text.replace("scale", "size"))
    output = finished.snakemake("--dry-run", "searched_table_15")
    finished.searches.write_text(text)
    planned = output.split("Job stats:")[1].split("total")[0]
    assert "table " in planned
    assert "search" not in planned.replace("searched_table_15", "")

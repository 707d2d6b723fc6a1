"""Searches through Snakemake at toy size."""

import pandas as pd
import pytest
import yaml
from dmlbench.plan.specs import searches
from dmlbench.search.best import read_best
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
IN_FOLDS = SEARCH | {
    "title": "A toy search over folds and all kinds of ranges",
    "run": RUN | {"split": "folds"},
    "folds": [0, 2],
    "strategy": "tpe",
    "pruner": "median",
    "budget": 3,
    "parameters": {
        "optimizer.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
        "loss.margin": {"low": 0, "high": 0.2},
        "sampler.images_per_class": {"low": 4, "high": 5, "integer": True},
        "loss.alpha": {"choices": [16, 32]},
    },
}


class Workflow(Project):
    """A copy of the project with two searches on rehearsal data."""

    def __init__(self, folder):
        super().__init__(folder)
        config = folder / "config"
        self.searches = config / "searches.yaml"
        self.write(self.searches, {"mine": SEARCH, "in_folds": IN_FOLDS})
        fixed = {"name": "fixed", "validation": 0.25}
        splits = {"half": "half", "fixed": fixed, "folds": "half4fold"}
        self.change("datasets", "glyphs", splits=splits)
        self.change("recipes", "glyphs", selection="best_validation_epoch")
        rehearsal = yaml.safe_load((config / "rehearsal.yaml").read_text())
        del rehearsal["rehearsal"]["searches"]
        values = yaml.safe_load((config / "config.yaml").read_text()) | rehearsal
        self.write(config / "config.yaml", values | {"studies": ["demo"]})

    def left(self, search):
        """The folder of what a search, as it is defined now, leaves."""
        return self.results / "searches" / searches.folder(self.plan(), search)

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
    workflow.snakemake("search_mine", "search_in_folds")
    return workflow


@pytest.mark.parametrize(("search", "count"), [("mine", 4), ("in_folds", 3)])
def test_workers_share_the_trials(finished, search, count):
    folder = finished.left(search)
    done = [
        trial
        for worker in sorted((folder / "workers").glob("*.yaml"))
        for trial in yaml.safe_load(worker.read_text())["trials"]
    ]
    trials = pd.read_parquet(folder / "trials.parquet")
    assert sorted(done) == list(trials["number"]) == list(range(count))


@pytest.mark.parametrize("search", ["mine", "in_folds"])
def test_the_best_values_are_those_of_the_best_trial(finished, search):
    folder = finished.left(search)
    trials = pd.read_parquet(folder / "trials.parquet")
    top = trials[trials["state"] == "complete"].sort_values("validation", kind="stable").iloc[-1]
    best = yaml.safe_load((folder / "best.yaml").read_text())
    assert best["validation"] == top["validation"] > 0
    assert read_best(folder / "best.yaml") in [
        yaml.safe_load(values)
        for values in trials["values"][trials["validation"] == best["validation"]]
    ]


def test_nothing_is_left_to_do_and_a_title_searches_nothing_again(finished):
    assert "Nothing to be done" in finished.snakemake("--dry-run", "search_mine")
    text = finished.searches.read_text()
    finished.searches.write_text(text.replace("scale", "size"))
    assert "Nothing to be done" in finished.snakemake("--dry-run", "search_mine")
    finished.searches.write_text(text.replace("workers: 2", "workers: 1"))
    assert not finished.planned("search_mine").get("search_worker")
    finished.searches.write_text(text)


def test_a_larger_budget_continues_the_same_trials(finished):
    before = pd.read_parquet(finished.left("in_folds") / "trials.parquet")
    text = finished.searches.read_text()
    finished.searches.write_text(text.replace("budget: 3", "budget: 4"))
    finished.snakemake("search_in_folds")
    after = pd.read_parquet(finished.left("in_folds") / "trials.parquet")
    finished.searches.write_text(text)
    pd.testing.assert_frame_equal(after[:3], before)
    assert len(after) == 4

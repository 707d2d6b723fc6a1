"""Folds that are scored together, and runs that wait for a search."""

import pytest
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.specs import combinations, searches
from dmlbench.plan.views import views

FORMS = ["concatenated", "separated"]


@pytest.fixture
def folded(configured):
    """The study on four folds, which are scored together."""
    configured.grid(split="half4fold", fold=[2, 0, 1, 3], embedding_dim=8)
    configured.change("studies/mine", ["combine"], [{"forms": FORMS}])
    return configured


def test_rows_that_differ_in_the_fold_alone_belong_together(folded):
    loaded = folded.load()
    found = combinations.combinations(loaded, "mine")
    rows = loaded.rows("mine")
    assert len(found) == 2 * len(rows) / 4
    for row, together in found.items():
        assert row.fold in FORMS
        assert [run.spec.fold for run in together.runs] == [0, 1, 2, 3]
        assert {run.spec.seed for run in together.runs} == {row.seed}
        assert [loaded.run(fold) for fold in together.folds] == list(together.runs)
        assert {(fold.method, fold.seed) for fold in together.folds} == {(row.method, row.seed)}


def test_a_folder_is_of_the_runs_and_not_of_the_form_or_the_study(folded):
    folded.write("studies/yours", folded.read("studies/mine"))
    loaded = folded.load("mine", "yours")
    mine, yours = (combinations.combinations(loaded, study) for study in ("mine", "yours"))
    folders = {one.folder for one in mine.values()}
    assert folders == {one.folder for one in yours.values()}
    assert len(folders) == len(mine) / 2
    for one in mine.values():
        assert one.folder.rpartition("-")[0] in {
            run.folder.replace("-fold0", "").rpartition("-")[0] for run in one.runs
        }
        assert combinations.find(loaded, one.folder).runs == one.runs


def test_other_folds_are_another_combination(folded):
    def folders():
        found = combinations.combinations(folded.load(), "mine")
        return {row: one.folder for row, one in found.items()}

    before = folders()
    folded.change("studies/mine", ["runs", 0, "fold"], [0, 1, 2])
    fewer = folders()
    assert before.keys() == fewer.keys()
    assert not set(before.values()) & set(fewer.values())
    folded.change("studies/mine", ["runs", 0, "fold"], [3, 1, 0, 2])
    assert folders() == before
    folded.change("recipes", ["glyphs", "epochs"], 5)
    for row, folder in folders().items():
        assert (folder != before[row]) == (row.method != "untrained")


def test_rows_without_folds_are_refused(folded):
    folded.grid(split=["half"])
    message = folded.problem()
    assert "mine.yaml: combine.0: " in message
    assert "has no folds; allowed: rows with folds" in message


def test_a_combination_of_no_rows_is_refused(folded):
    folded.change("studies/mine", ["combine", 0, "where"], {"method": "margin"})
    assert "mine.yaml: combine.0.where: fits none of the study's rows" in folded.problem()


def test_a_view_of_combined_rows_knows_methods_and_selection_of_the_folds(folded):
    table = {
        "title": "T",
        "kind": {"name": "scores_next_to_printed", "metrics": ["recall_at_1"], "panel": "fold"},
        "where": {"fold": FORMS, "method": ["triplet", "contrastive"]},
    }
    folded.change("studies/mine", ["tables"], {"together": table})
    loaded = folded.load()
    facts = views.facts(loaded, "mine", "table", "together")
    assert facts["methods"] == ["contrastive", "triplet"]
    assert facts["selection"] == "best_validation_epoch"
    assert {row["fold"] for row in facts["rows"]} == set(FORMS)
    trained = views.trained_rows(loaded, "mine", Where(fold=["separated"], method=["triplet"]))
    assert [(row.method, row.fold, row.seed) for row in trained] == [
        ("triplet", fold, seed) for seed in (0, 1) for fold in range(4)
    ]


@pytest.fixture
def tuned(configured):
    """One row, tuned by the search of the configuration."""
    configured.change("studies/mine", ["variants"], {"tuned": {"search": "small"}})
    grid = {"split": "half4fold", "fold": 0, "variant": "tuned", "seed": 0}
    configured.grid(**grid, method="contrastive", embedding_dim=8)
    return configured


def folder(configured):
    (run,) = configured.load().runs()
    return run.folder


@pytest.mark.parametrize(
    ("keys", "value", "another"),
    [
        (["title"], "Another", False),
        (["workers"], 4, False),
        (["budget"], 9, True),
        (["strategy"], "tpe", True),
        (["parameters", "loss.margin", "high"], 0.6, True),
        (["run", "seed"], 1, True),
    ],
)
def test_a_tuned_run_is_known_by_its_search(tuned, keys, value, another):
    before = folder(tuned)
    tuned.change("searches", ["small", *keys], value)
    assert (folder(tuned) != before) == another


def test_a_tuned_run_does_not_know_what_the_search_finds(tuned, tmp_path):
    results = {"pathvars": {"results": str(tmp_path / "results")}}
    loaded = tuned.load(**results)
    best = tmp_path / "results" / "searches" / searches.folder(loaded, "small") / "best.yaml"
    best.parent.mkdir(parents=True)
    best.write_text("loss.margin: 0.3\n")
    assert tuned.load(**results).runs() == loaded.runs()
    spec = loaded.runs()[0].spec
    assert spec.search == searches.identity(searches.search_facts(loaded, "small"))


def test_a_tuned_run_and_one_that_is_not_are_two(tuned):
    tuned.change("studies/mine", ["runs", 0, "variant"], ["base", "tuned"])
    assert len(tuned.load().runs()) == 2

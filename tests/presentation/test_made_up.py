"""Every table and figure of every study from made-up scores, as a call that asks for it does."""

import pytest
from dmlbench import plan
from dmlbench.plan import Plan
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.views import dry_render, views
from dmlbench.presentation.made_up import made_up_scores, made_up_trials, render
from dmlbench.statistics.aggregation import SCHEMA
from empty_cells import check_cells
from project import CONFIG, STUDIES

PAPERS = {folder.name for folder in (CONFIG / "reference").iterdir() if folder.is_dir()}


@pytest.fixture(scope="module")
def loaded() -> Plan:
    return plan.reload(read_mapping(CONFIG / "config.yaml") | {"studies": STUDIES}, CONFIG)


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_every_view_can_be_made_and_no_cell_is_empty_without_a_reason(loaded, study, tmp_path):
    for name, view in views.views(loaded, study).items():
        kind, _, own = name.replace("s.", ".").partition(".")
        if kind == "embedding_map" or getattr(view, "experiments", None):
            continue  # of vectors, or computed in minutes; a rehearsal has them
        made = render(kind, **dry_render.made_from(loaded, study, kind, own))
        if kind == "table" and study in PAPERS:
            file = tmp_path / f"{own}.csv"
            file.write_text(made.to_csv())
            check_cells(file)


def test_scores_are_those_that_rows_will_have():
    """By hand: combined folds have test scores only, one rule gives one score."""
    row = {"dataset": "a", "network": "n", "embedding_dim": 8, "method": "m", "recipe": "r"}
    row |= {"variant": "", "split": "half", "fold": "", "seed": 0, "run": "f"}
    measure = {"role": "train", "metrics": ["rho"], "arrays": []}
    rows = [row, row, row | {"fold": "concatenated", "run": "g"}]
    scores = made_up_scores(rows, "last_epoch", {"a": ["nmi"]}, [measure])
    assert list(scores.columns) == SCHEMA.names
    found = sorted(zip(scores.run, scores.role, scores.metric, scores.selection, strict=True))
    assert found == [
        ("f", "test", "nmi", "last_epoch"),
        ("f", "train", "rho", "last_epoch"),
        ("f", "validation", "nmi", "last_epoch"),
        ("g", "test", "nmi", "last_epoch"),
    ]
    assert scores.value.between(0.2, 0.8).all()
    assert len(made_up_scores(rows, "best_test_epoch", {"a": ["nmi"]}, [measure])) == 2 * len(found)
    assert made_up_scores([], "none", {}).empty


def test_trials_are_at_the_ends_of_ranges_and_lists():
    parameters = {
        "loss.margin": {"choices": None, "low": 0.1, "high": 0.5},
        "miner": {"choices": ["a", "b", "c"], "low": None, "high": None},
    }
    values = made_up_trials({"parameters": parameters})["values"]
    assert list(values) == [
        '{"loss.margin": 0.1, "miner": "a"}',
        '{"loss.margin": 0.5, "miner": "c"}',
    ]

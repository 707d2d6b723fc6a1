"""From files and facts to tables and figures: rows match files, searches match trials."""

import json

import matplotlib as mpl
import pandas as pd
import pytest
from dmlbench.presentation import style
from dmlbench.presentation.view_files import write_figure, write_table
from dmlbench.statistics.tournament import write_tournament
from run_files import run_files


@pytest.fixture
def facts(titles, methods):
    return {
        "id": "demo_01",
        "title": "T",
        "methods": methods,
        "selection": "best_test_epoch",
        "titles": titles,
        "baseline": "untrained",
        "years": {},
        "searches": {},
        "where": {},
        "options": {},
        "rehearsal": False,
    }


@pytest.fixture
def shown(monkeypatch):
    """The texts of the last figure that was saved."""
    figures = []
    monkeypatch.setattr(style, "save", lambda figure, **files: figures.append(figure))
    return lambda: [text.get_text() for text in figures[-1].findobj(mpl.text.Text)]


def test_a_table_and_a_figure_of_rows(synthetic_scores, facts, tmp_path):
    rows, files = run_files(synthetic_scores(), tmp_path / "runs")
    facts |= {"rows": rows, "options": {"metrics": ["recall_at_1"]}}
    write_table(files, facts | {"kind": "scores_by_method"}, csv=tmp_path / "t.csv")
    assert "ProxyAnchor,80.00,78.00,81.00,79.00\n" in (tmp_path / "t.csv").read_text()
    facts["options"] = {}
    write_figure(files, facts | {"kind": "recall_by_embedding_dim"}, svg=tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("rehearsal", [True, False])
def test_rehearsed_tables_and_figures_say_so(synthetic_scores, facts, tmp_path, rehearsal, shown):
    rows, files = run_files(synthetic_scores(), tmp_path / "runs")
    facts |= {"rows": rows, "rehearsal": rehearsal, "options": {"metrics": ["recall_at_1"]}}
    paths = {end: tmp_path / f"t.{end}" for end in ("csv", "md", "tex", "html")}
    write_table(files, facts | {"kind": "scores_by_method"}, **paths)
    for path in paths.values():
        assert ("toy numbers" in path.read_text()) == rehearsal
    for end in ("md", "tex", "html"):
        assert ("Rehearsal, toy numbers: T" in paths[end].read_text()) == rehearsal
    table = pd.read_csv(paths["csv"])
    assert (table.columns[0] == "rehearsal") == rehearsal
    assert set(table.get("rehearsal", ["toy numbers"])) == {"toy numbers"}
    facts["options"] = {}
    write_figure(files, facts | {"kind": "recall_by_embedding_dim"}, svg=tmp_path / "f.svg")
    assert ("Rehearsal: toy numbers" in shown()) == rehearsal
    board = {suffix: tmp_path / f"tournament.{suffix}" for suffix in ("csv", "parquet")}
    by = {"metric": "recall_at_1", "methods": facts["methods"], "selection": facts["selection"]}
    write_tournament(rows, files, **board, rehearsal=rehearsal, **by)
    assert (pd.read_csv(board["csv"]).columns[0] == "rehearsal") == rehearsal


def test_a_table_of_searches_finds_trials_and_tuned_runs(synthetic_scores, facts, tmp_path):
    scores = synthetic_scores(dims=[64], variant="tuned=mine", selection="best_validation_epoch")
    scores = scores[(scores.method == "triplet") & (scores.value == 0.5)]
    rows, files = run_files(scores, tmp_path / "runs")
    trial = {"number": 0, "state": "complete", "values": json.dumps({}), "validation": 0.75}
    (tmp_path / "of_another_name-012345").mkdir()
    trials = tmp_path / "of_another_name-012345" / "trials.parquet"
    pd.DataFrame([trial | {"trained": True, "seconds": 360.0}]).to_parquet(trials)
    (tmp_path / "table_01.csv").write_text(
        "study,table,panel,dataset,network,embedding_dim,method,variant,split,metric,value,std,note"
        "\nx2020,table_01,,glyphs,convnet,64,triplet,,test,recall_at_1,49.5,,\n"
    )
    (tmp_path / "mapping.yaml").write_text("rules:\n  - then: {split: half}\n")
    search = {"method": "triplet", "strategy": "tpe", "metric": "recall_at_1", "parameters": {}}
    facts |= {
        "rows": rows,
        "kind": "search_comparison",
        "selection": "best_validation_epoch",
        "searches": {"mine": search},
        "options": {"printed": ["01"]},
    }
    files = {"printed": [tmp_path / "table_01.csv"], "trials": [trials], "scores": files}
    write_table(files.pop("scores"), facts, **files, csv=tmp_path / "t.csv")
    assert "Triplet,TPE,1,1,0,0,0.10,75.00,,50.00,49.50,+0.50\n" in (tmp_path / "t.csv").read_text()

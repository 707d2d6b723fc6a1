"""Printed tables beside ours, against the transcriptions and the published scores."""

import csv

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.views import score_files
from dmlbench.presentation.beside import beside, write_beside
from dmlbench.statistics.aggregation import SCHEMA
from project import CONFIG, REPOSITORY, load_studies

STUDY = "psomas2020_birds_swaps"


@pytest.fixture(scope="module")
def found():
    return list(beside(load_studies(STUDY), STUDY))


@pytest.fixture(scope="module")
def published():
    """Loss -> mean test R@1 of the last epoch over splits, in percent."""
    scores = pd.read_parquet(REPOSITORY / "results/published" / STUDY / "scores.parquet")
    of = scores.query(
        "variant == 'tuned' and role == 'test' and metric == 'recall_at_1' "
        "and selection == 'last_epoch'"
    )
    return 100 * of.groupby("method")["value"].mean()


def values(table, column) -> dict[str, float]:
    place = [each.name for each in table.columns].index(column)
    return {row.label: row.cells[place].value for row in table.rows}


def test_the_printed_table_is_the_transcription(found):
    (page,) = [each for each in found if each.title == "psomas2020, table 6b"]
    with (CONFIG / "reference/psomas2020/table_06.csv").open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["panel"] == "b"]
    printed = page.tables[0]
    assert len(printed.rows) * len(printed.columns) == len(lines) == 40
    known = [line["value"] for line in lines if line["metric"] == "recall_at_4"]
    place = [column.name for column in printed.columns].index("recall_at_4")
    assert [cells[place][0] for cells in printed.texts()] == known
    assert printed.notes == ("CUB-200-2011, ResNet-50, 128, test",)


def test_ours_has_the_published_scores_in_the_same_cells(found, published):
    for page in found[:12]:
        printed, ours, can_learn = page.tables
        for table in (ours, can_learn):
            assert [row.label for row in table.rows] == [row.label for row in printed.rows]
            assert table.columns == printed.columns
        shown = values(ours, "recall_at_1")
        assert shown["Contrastive"] == pytest.approx(published["contrastive"])
        assert shown["NPair"] == pytest.approx(published["n_pair"])
        assert values(can_learn, "recall_at_1")["NPair"] == pytest.approx(
            published["n_pair_scaled"]
        )


def test_birds_are_beside_tables_of_birds_alone(found):
    tables = {each.title.removeprefix("psomas2020, table ")[:1] for each in found}
    assert {"6", "7", "8"} <= tables
    assert not {each.title for each in found} & {"psomas2020, table 9a", "psomas2020, table 10a"}


def test_the_page_and_the_tables_for_latex_have_all_of_them(found, tmp_path):
    write_beside(found, STUDY, tmp_path / "paper")
    page = (tmp_path / "paper" / "beside.html").read_text()
    assert page.count("<section>") == len(found)
    assert page.count("<table>") == sum(len(each.tables) for each in found)
    text = (tmp_path / "paper" / "beside.tex").read_text()
    assert text.count("\\begin{table}") == text.count("\\caption") == len(found)
    assert text.count("\\clearpage") == len(found) - 1
    assert text.count("\\resizebox{\\ifdim\\width>\\linewidth") == text.count("\\begin{tabular}")


def test_a_papers_own_study_has_its_scores_at_their_places(tmp_path):
    plan = load_studies("psomas2020", pathvars={"results": str(tmp_path)})
    row, _ = next(
        each
        for each in score_files.selected(plan, "psomas2020")
        if (each[0]["dataset"], each[0]["network"], each[0]["embedding_dim"], each[0]["method"])
        == ("cub200", "resnet50", 64, "margin")
    )
    score = {"role": "test", "metric": "recall_at_1", "value": 0.5}
    frame = pd.DataFrame([row | score], columns=SCHEMA.names)
    file = tmp_path / paths.made("aggregate", "scores", study="psomas2020")
    file.parent.mkdir(parents=True)
    frame.to_parquet(file, index=False)
    (page,) = beside(plan, "psomas2020")
    assert page.title == "psomas2020, table 6a"
    printed, ours = page.tables
    assert values(printed, "recall_at_1")["Margin"] == 59.66
    shown = [cell.value for each in ours.rows for cell in each.cells]
    assert sorted(value for value in shown if value is not None) == [50.0]
    assert values(ours, "recall_at_1")["Margin"] == 50.0


def test_a_study_without_printed_tables_is_refused():
    with pytest.raises(UserError) as error:
        list(beside(load_studies("demo"), "demo"))
    assert "study demo: belongs to no printed tables; allowed: the study of a folder of" in str(
        error.value
    )

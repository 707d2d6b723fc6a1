"""Tables of results/published are what their scores give by this version's rules."""

import re

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation.published import tables_again, write_again
from dmlbench.statistics.aggregation import read_scores
from dmlbench.statistics.classes import FILE as CLASSES
from project import REPOSITORY, load_studies
from scipy import stats

PUBLISHED = REPOSITORY / "results" / "published"
SCORES, TABLES = "scores.parquet", "tables"
FOLDERS = sorted(file.parent.name for file in PUBLISHED.glob(f"*/{SCORES}"))
ELSEWHERE = {"omniglot_intel_xeon": "omniglot"}
"""Folders of a study's other runs."""


@pytest.fixture(scope="module")
def plan():
    return load_studies(*sorted({ELSEWHERE.get(name, name) for name in FOLDERS}))


@pytest.fixture(scope="module")
def plan_of_one():
    return load_studies("can2019_omniglot")


@pytest.fixture
def copied(tmp_path):
    """A published folder without its tables, whose scores can be changed."""
    scores = read_scores(PUBLISHED / "can2019_omniglot" / SCORES)

    def copy(kept) -> None:
        scores[kept(scores)].to_parquet(tmp_path / SCORES, index=False)
        return tmp_path

    return copy


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_published_tables_are_those_of_the_published_scores(plan, folder):
    study = ELSEWHERE.get(folder, folder)
    scores = PUBLISHED / folder / SCORES
    has_classes = scores.with_name(CLASSES).exists()
    found = dict(tables_again(plan, study, read_scores(scores), has_classes=has_classes))
    assert set(found) == {file.stem for file in (PUBLISHED / folder / TABLES).glob("*.csv")}
    for name, view in plan.studies[study].tables.items():
        again = found[name]
        if isinstance(again, str):
            assert has_classes or view.kind.name != "paired_differences", again
            continue
        assert_fits(again.to_latex())
        for end, text in (("csv", again.to_csv()), ("md", again.to_markdown())):
            written = (PUBLISHED / folder / TABLES / f"{name}.{end}").read_text()
            assert written == text, f"{folder}, {name}: `make published-tables STUDY={study}`"


def assert_fits(text: str) -> None:
    """No line of a table is wider than the line that it is in, and no float taller than a page."""
    begins = re.findall(r"(.*)\n\\begin{tabular}", text)
    assert set(begins) == {r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"}
    for each in text.split(r"\end{table}")[:-1]:
        assert each.count(r"\\" + "\n") <= 45, each


def test_a_published_difference_by_hand():
    """Two samples, because deviations of 11 losses and of their differences are alike."""
    scores = read_scores(PUBLISHED / "karaman2021_omniglot" / SCORES).query(
        "metric == 'recall_at_1' and selection == 'last_epoch' and role == 'test'"
    )
    values = {
        method: 100 * own.sort_values("seed")["value"]
        for method, own in scores[scores["variant"] == "with_miner"].groupby("method")
    }
    test = stats.ttest_ind(values["facenet"], values["distance_sensitive"], equal_var=False)
    interval = test.confidence_interval(0.95)
    tables = PUBLISHED / "karaman2021_omniglot" / TABLES
    row = pd.read_csv(tables / "force_mined.csv").query("panel == 'R@1' and Loss == 'FaceNet'")
    shown = row[["low", "high", "p"]].to_numpy(float)[0]
    assert shown == pytest.approx([interval.low, interval.high, test.pvalue], abs=0.006)


def test_tables_are_written_and_what_the_scores_lack_is_named(plan_of_one, copied):
    folder = copied(lambda scores: scores["variant"] != "profs_hncm")
    *left, last = write_again(plan_of_one, "can2019_omniglot", folder)
    assert last == f"can2019_omniglot: 0 tables in {folder}"
    assert len(left) == 3
    assert "differences stays as it is, because the scores lack 12 of its 36 runs" in left[1]
    folder = copied(lambda scores: scores["metric"] != "r_precision")
    *left, last = write_again(plan_of_one, "can2019_omniglot", folder)
    assert [line.partition("lack ")[2] for line in left] == ["the metric r_precision"]
    assert last == f"can2019_omniglot: 2 tables in {folder}"
    for name in ("differences.csv", "differences.md", "class_mining.csv"):
        published = PUBLISHED / "can2019_omniglot" / TABLES / name
        assert (folder / TABLES / name).read_bytes() == published.read_bytes()


def test_a_folder_without_scores_is_named(plan_of_one, tmp_path):
    with pytest.raises(UserError, match=r"scores\.parquet: missing; allowed: a folder with"):
        list(write_again(plan_of_one, "can2019_omniglot", tmp_path))

"""docs/findings/: tables are those of the published scores, and no result is in prose by hand."""

import re
from pathlib import Path

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.marked_text import read_marked, write_marked
from dmlbench.statistics.aggregation import read_scores
from from_scores import MARKER, TABLES, marked
from project import REPOSITORY
from published_scores import PUBLISHED
from record_tables import MADE

DOCS = REPOSITORY / "docs"
PAGES = [DOCS / "which_loss.md", DOCS / "results.md", *sorted((DOCS / "findings").glob("*.md"))]
WRITTEN = re.compile(r"<!-- ([\w ]+): begin -->.*?<!-- \1: end -->", re.DOTALL)
INTERVAL = re.compile(r"-?\d+\.\d+\s+\[-?\d+\.\d+,\s+-?\d+\.\d+\]")
RESULT = re.compile(
    rf"{INTERVAL.pattern}|\d\s*±|(?<!\b9)\d%|\d\s+points?\b|\d\s+of\s+\d|\bp\s+[<=]\s+0\.0"
    r"|\d\s+(?:CPU\s+)?(?:s|seconds?|min|minutes?|h|hours?)\b|R@1\s+of\s+\d|\d\s+times\b"
)
"""Scores, intervals, shares, p-values, times and counts as a page would show them."""

INVENTED = (
    "R@1 rises by +0.32 [-0.89, 1.53]",
    "43.05 ± 0.62",
    "72% of them",
    "by 10 points",
    "7 of 12 pairs",
    "Holm: p = 0.04",
    "3.5 hours",
    "148 CPU s",
    "36 times",
)


def prose(page: Path) -> str:
    """What is on a page outside of blocks that a script writes, and of output of commands."""
    return re.sub(r"```.*?```", "", WRITTEN.sub("", page.read_text()), flags=re.DOTALL)


@pytest.mark.parametrize("page", [REPOSITORY / "README.md", *PAGES], ids=lambda page: page.stem)
def test_no_score_interval_count_or_time_is_written_by_hand(page):
    assert RESULT.findall(prose(page)) == []


@pytest.mark.parametrize("text", INVENTED)
def test_a_result_in_prose_is_found(text):
    assert RESULT.search(text)


NO_RESULTS = {
    "can2019": ("learning rates, a formula", r"[02] times"),
    "claims": ("levels and power of tests", r"5%|0%"),
    "elsewhere": ("power of a test", r"0%"),
    "forces": ("a formula", r"2 times"),
    "gpu": ("limits", r"[87] minutes|1 of 2|[35]%|1 s|0 s|[40]0? ?%|0%"),
    "intervals": ("the level of a test, a formula", r"5%|2 times"),
    "karaman2021": ("margins, a region, a split, a fan-in", r"2 of [51]|3%|8 times|2 of 3"),
    "musgrave2020": ("crops, folds, the code on the same batches", r"\d%|7 times|[06] of 2"),
    "own": ("what its commands print", r"\d ±|[24] of [14]|2 minutes|[47] points|0%"),
    "psomas2020": ("the code on the same batches", r"0 times|6 times|0%|5 of 6|0 of 1"),
    "roth2020": ("formulas, crops, the code on the same batches", r"\d times|5 points|8%"),
    "running": ("what a call prints, a level, Slurm's pace", r"4 of 9|5 of 1|0 seconds"),
    "scaling": ("advice", r"5 times"),
    "verdicts": ("levels and power of tests", r"[510]%"),
}
"""Page -> why its numbers of these forms are no results of ours."""


@pytest.mark.parametrize(
    "page", sorted({*DOCS.rglob("*.md")} - {*PAGES}), ids=lambda page: page.stem
)
def test_numbers_by_hand_on_other_pages_are_no_results(page):
    _, known = NO_RESULTS.get(page.stem, ("", r"(?!)"))
    found = RESULT.findall(prose(page))
    assert [each for each in found if not re.fullmatch(known, each)] == []
    assert bool(found) == (page.stem in NO_RESULTS)


def test_docs_without_what_scripts_write_are_short():
    """250 kB, of which results and findings have some 30 without how they were made."""
    sizes = {page: len(WRITTEN.sub("", page.read_text()).encode()) for page in DOCS.rglob("*.md")}
    assert sum(sizes.values()) < 250_000
    folded = re.compile(r"<details.*?</details>", re.DOTALL)
    findings = [folded.sub("", WRITTEN.sub("", page.read_text())) for page in PAGES[1:]]
    assert sum(len(page.encode()) for page in findings) < 33_000


def test_each_study_is_on_the_page_that_says_how_it_was_made():
    made = pd.read_csv(PUBLISHED / "made.csv")
    assert made["study"].is_unique
    for study in made["study"]:
        assert (PUBLISHED / study).is_dir()
    named = {
        study for page in PAGES for study in re.findall(r"results/published/(\w+)", prose(page))
    }
    assert named <= set(made["study"])


def test_results_of_a_gpu_name_their_torch():
    of_gpu = MADE[MADE["machine"].str.contains("H200")]
    assert len(of_gpu)
    assert of_gpu["note"].str.contains(r"torch \d+\.\d+").all()


def test_each_table_is_on_one_page():
    names = [name for page in DOCS.rglob("*.md") for name in MARKER.findall(page.read_text())]
    assert sorted(names) == sorted(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_that_of_the_published_scores(name):
    written = read_marked(marked()[name], f"from_scores {name}")
    assert written == TABLES[name](), "published results changed: `make findings`"


@pytest.mark.parametrize(
    ("name", "study", "variant", "metric"),
    [
        ("trained_cars", "psomas2020_cars_trained", "tuned", "recall_at_1"),
        ("musgrave2020_cars", "musgrave2020_cars", "tuned", "map_at_r"),
        (
            "karaman2021_birds",
            "karaman2021_birds",
            "without_miner,tuned_without",
            "recall_at_1",
        ),
        ("can2019_omniglot", "can2019_omniglot", "", "recall_at_1"),
    ],
)
def test_the_means_of_a_table_are_those_of_the_scores_themselves(name, study, variant, metric):
    scores = read_scores(PUBLISHED / study / "scores.parquet").query(
        "variant == @variant and metric == @metric and role == 'test'"
    )
    of_splits = scores.groupby(["method", "split"])["value"].mean()
    means = sorted(100 * of_splits.groupby("method").mean())
    rows = read_marked(marked()[name], f"from_scores {name}").splitlines()[2:]
    column = 1 if name in ("can2019_omniglot", "karaman2021_birds") else 2
    cells = [
        float(re.search(r"[\d.]+", row.split("|")[column + 1])[0]) for row in rows[: len(means)]
    ]
    assert sorted(cells) == pytest.approx(means, abs=0.0051)


@pytest.mark.parametrize("text", ["none", "<!-- x: begin -->\n<!-- x: end -->"])
def test_a_table_without_a_place_of_its_own_is_refused(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UserError, match="0 places for `x`"):
        write_marked(page, "x", "| a table |")
    assert page.read_text() == text

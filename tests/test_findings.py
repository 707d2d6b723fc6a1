"""docs/findings/: tables are those of the published scores, and so is each number in prose that has
an interval."""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.marked_text import read_marked, write_marked
from dmlbench.statistics.aggregation import read_scores
from from_scores import MARKER, TABLES, marked
from project import REPOSITORY
from published_contrasts import of_scores
from published_scores import PUBLISHED, by_seed
from scipy import stats

DOCS = REPOSITORY / "docs"
PAGES = [DOCS / "which_loss.md", *sorted((DOCS / "findings").glob("*.md"))]
GENERATED = re.compile(r"<!-- (from_\w+(?: \w+)?): begin -->.*?<!-- \1: end -->", re.DOTALL)
SHOWN = re.compile(
    r"(?<![\d.])([+-]?\d+\.(\d+))%?(?:\s+points(?:\s+of\s+(?:R@1|MAP@R))?)?\**"
    r"\s+\[(-?\d+\.\d+),\s+(-?\d+\.\d+)\]"
)
UNPUBLISHED = [(-0.19, -0.84, 0.52), (0.4, -7.5, 8.4), (-0.25, -0.63, 0.13)]
"""What no published file has: a correlation without four losses that drive it, and toy lines."""


def prose(page: Path) -> str:
    """What is on a page outside of generated blocks."""
    return GENERATED.sub("", page.read_text())


def published(page: Path) -> np.ndarray:
    """Every number with its interval [N, 3] in the tables of the studies that a page names.

    In a table they are neighbors: the number, and the ends of its interval.
    """
    found = [np.empty((0, 3))]
    for study in set(re.findall(r"results/published/(\w+)", page.read_text())):
        for file in sorted((PUBLISHED / study / "tables").glob("*.csv")):
            numbers = pd.read_csv(file).apply(pd.to_numeric, errors="coerce").to_numpy(float)
            found += [numbers[:, start : start + 3] for start in range(numbers.shape[1] - 2)]
    return np.concatenate(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_number_with_an_interval_is_published_or_follows_from_scores(page):
    known = np.vstack([published(page), of_scores(), UNPUBLISHED])
    # A text may tell how far one loss is above another, or below.
    known = np.vstack([known, -known[:, [0, 2, 1]]])
    wrong = []
    for value, decimals, low, high in SHOWN.findall(prose(page)):
        shown = np.array([value, low, high], dtype=float)
        # Half a unit of what is shown, and of the two decimals of a table.
        allowed = 0.5 * 10.0 ** -len(decimals) + 0.0051
        if not (np.abs(known - shown) <= allowed).all(axis=1).any():
            wrong.append((value, low, high))
    assert wrong == []


def test_numbers_with_intervals_are_on_these_pages_only():
    """Others show what a command prints."""
    others = {page for page in DOCS.rglob("*.md") if SHOWN.search(prose(page))} - set(PAGES)
    assert {page.name for page in others} == {"elsewhere.md", "reading.md"}


def test_numbers_are_found():
    assert sum(len(SHOWN.findall(prose(page))) for page in PAGES) > 50


def test_each_table_is_on_one_page():
    names = [name for page in PAGES for name in MARKER.findall(page.read_text())]
    assert sorted(names) == sorted(TABLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_stand_between_comments(page):
    """Except those of calls, which have no number of a result."""
    rows = re.findall(r"^\|.*\|$", prose(page), re.MULTILINE)
    assert [row for row in rows if SHOWN.search(row) or " ± " in row] == []


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
    column = 1 if name == "can2019_omniglot" else 2
    cells = [
        float(re.search(r"[\d.]+", row.split("|")[column + 1])[0]) for row in rows[: len(means)]
    ]
    assert sorted(cells) == pytest.approx(means, abs=0.0051)


def arms_of_triplet_losses() -> list[pd.DataFrame]:
    """R@1 by seed and loss on birds and on cars, without and with the miner."""
    studies = [by_seed(f"karaman2021_{data}_seeds", "recall_at_1") for data in ("birds", "cars")]
    arms = ("without_miner,tuned_without", "with_miner,tuned_with")
    return [scores[arm] for scores in studies for arm in arms]


def test_as_many_pairs_of_triplet_losses_are_equivalent_as_the_page_says():
    arms = arms_of_triplet_losses()
    others = [arm.drop(columns=["distance_sensitive", "ratio"]) for arm in arms]
    assert [equivalent_pairs(arm) for arm in arms] == [38, 19, 36, 4]
    assert [equivalent_pairs(others[0]), equivalent_pairs(others[2])] == [36, 36]


def equivalent_pairs(arm: pd.DataFrame) -> int:
    """How many pairs of losses (columns) are within one point, by 95% intervals over seeds."""
    pairs = [arm[one] - arm[other] for one, other in itertools.combinations(arm, 2)]
    intervals = [stats.ttest_1samp(each, 0).confidence_interval(0.95) for each in pairs]
    return sum(low > -1 and high < 1 for low, high in intervals)


def test_the_noise_of_triplet_losses_is_what_the_page_says():
    for arm, noise, shared in zip(
        arms_of_triplet_losses(), (0.36, 0.37, 0.48, 0.37), (0.74, 0.29, 0.53, 0.40), strict=True
    ):
        above = np.triu_indices(arm.shape[1], 1)
        assert np.sqrt(arm.var().mean()) == pytest.approx(noise, abs=0.0051)
        assert arm.corr().to_numpy()[above].mean() == pytest.approx(shared, abs=0.0051)


@pytest.mark.parametrize("text", ["none", "<!-- x: begin -->\n<!-- x: end -->"])
def test_a_table_without_a_place_of_its_own_is_refused(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(UserError, match="0 places for `x`"):
        write_marked(page, "x", "| a table |")
    assert page.read_text() == text

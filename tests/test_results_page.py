"""docs/results.md: every number with an interval or a deviation is in a published table, or follows
from published scores as it says."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from dmlbench.marked_text import read_marked
from dmlbench.plan.catalogs.read import read_mapping
from from_cards import CARDS, PAGE
from project import REPOSITORY
from published_contrasts import of_scores
from published_scores import (
    PUBLISHED,
    by_seed,
    by_split,
    over_seeds,
)
from scipy import stats

METHODS = REPOSITORY / "config" / "methods.yaml"
TEXT = PAGE.read_text()
SHOWN = re.compile(
    r"(?<![\d.])([+-]?\d+\.(\d+))%?(?:\s+points(?:\s+of\s+(?:R@1|MAP@R))?)?\**"
    r"\s+\[(-?\d+\.\d+),\s+(-?\d+\.\d+)\]"
)
REPEATED = re.compile(r"(?<![\d.])(\d+\.(\d+)) ± (\d+\.\d+)")
AMONG_TEN = (-0.19, -0.84, 0.52)
"""The correlation without the four losses that drive it, whose bootstrap no published file has."""


def sections() -> dict[str, str]:
    """Heading -> its text, for sections that name published studies."""
    parts = re.split(r"^##+ (.*)$", TEXT, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {title: text for title, text in found.items() if "results/published/" in text}


def studies(text: str) -> list[str]:
    """The published studies that a section names."""
    return list(dict.fromkeys(re.findall(r"results/published/(\w+)", text)))


def published(text: str) -> np.ndarray:
    """Every number with its interval [N, 3] in the tables of the studies that a section names.

    In a table they are neighbors: the number, and the ends of its interval.
    """
    found = []
    for study in studies(text):
        for file in sorted((PUBLISHED / study / "tables").glob("*.csv")):
            numbers = pd.read_csv(file).apply(pd.to_numeric, errors="coerce").to_numpy(float)
            found += [numbers[:, start : start + 3] for start in range(numbers.shape[1] - 2)]
    return np.concatenate(found)


@pytest.mark.parametrize("title", sections())
def test_a_number_with_an_interval_is_published_or_follows_from_scores(title):
    known = np.vstack([published(sections()[title]), of_scores(), AMONG_TEN])
    # A text may tell how far one loss is above another, or below.
    known = np.vstack([known, -known[:, [0, 2, 1]]])
    for value, decimals, low, high in SHOWN.findall(sections()[title]):
        shown = np.array([value, low, high], dtype=float)
        # Half a unit of what is shown, and of the two decimals of a table.
        allowed = 0.5 * 10.0 ** -len(decimals) + 0.0051
        assert (np.abs(known - shown) <= allowed).all(axis=1).any(), (value, low, high)


@pytest.mark.parametrize("title", [t for t, text in sections().items() if REPEATED.search(text)])
def test_a_mean_with_a_deviation_follows_from_published_scores(title):
    text = sections()[title]
    with_scores = [each for each in studies(text) if (PUBLISHED / each / "scores.parquet").exists()]
    known = np.vstack([over_seeds(study) for study in with_scores])
    for mean, decimals, deviation in REPEATED.findall(text):
        allowed = 0.5 * 10.0 ** -len(decimals) + 1e-6
        shown = np.array([mean, deviation], dtype=float)
        assert (np.abs(known - shown) <= allowed).all(axis=1).any(), (mean, deviation)


def test_numbers_are_found():
    assert sum(len(SHOWN.findall(text)) for text in sections().values()) > 600
    assert sum(len(REPEATED.findall(text)) for text in sections().values()) > 300


def published_of(names: list[str], loss: str) -> np.ndarray:
    """Every number with its interval [N, 3] in the rows of a loss, in the tables of studies."""
    found = [np.empty((0, 3))]
    for file in (file for name in names for file in PUBLISHED.glob(f"{name}/tables/*.csv")):
        rows = pd.read_csv(file)
        if "Loss" in rows:
            losses = rows["Loss"].str.replace(r" \(\d{4}\)", "", regex=True).str.partition(", ")[0]
            numbers = rows[losses == loss].apply(pd.to_numeric, errors="coerce").to_numpy(float)
            found += [numbers[:, start : start + 3] for start in range(numbers.shape[1] - 2)]
    return np.concatenate(found)


@pytest.mark.parametrize("title", sections())
def test_an_interval_in_the_row_of_a_loss_is_published_for_that_loss(title):
    text = re.sub(r"<!-- from_cards.*?: end -->", "", sections()[title], flags=re.DOTALL)
    titles = {entry["title"] for entry in read_mapping(METHODS).values()}
    for row in re.findall(r"^\|.*\|$", text, re.MULTILINE):
        name = re.sub(r" \(\d{4}\)", "", row.split("|")[1].strip())
        loss = "All losses" if name in ("mean of the four", "all four") else name
        if loss not in titles | {"All losses"}:
            continue
        known = published_of(studies(text), loss)
        for value, decimals, low, high in SHOWN.findall(row):
            shown = np.array([value, low, high], dtype=float)
            allowed = 0.5 * 10.0 ** -len(decimals) + 0.0051
            assert (np.abs(known - shown) <= allowed).all(axis=1).any(), (name, value, low, high)


def rows_of(title: str) -> dict[str, list[float | None]]:
    """Method -> the first number of each cell of its row in a section's first table."""
    methods = {entry["title"]: method for method, entry in read_mapping(METHODS).items()}
    methods["a random projection"] = "untrained"
    table = re.search(r"^\|[^\n]*(\n\|[^\n]*)*", sections()[title], re.MULTILINE)[0]
    found = {}
    for row in table.splitlines():
        name, *cells = row.strip("|").split("|")
        numbers = [re.search(r"[+-]?\d+\.\d+", cell) for cell in cells]
        if method := methods.get(re.sub(r" \(\d{4}\)", "", name.strip())):
            found[method] = [float(number[0]) if number else None for number in numbers]
    return found


@pytest.mark.parametrize("name", CARDS)
def test_a_generated_table_is_that_of_the_published_scores(name):
    written = read_marked(PAGE, f"from_cards {name}")
    assert written == CARDS[name](), "published results changed: `make cards`"


@pytest.mark.parametrize(
    ("study", "title", "variant", "losses", "metric"),
    [
        (
            "psomas2020_cars_trained",
            "ten losses, the whole network trained",
            "tuned",
            10,
            "recall_at_1",
        ),
        ("musgrave2020_cars", "twelve losses, each tuned", "tuned", 12, "map_at_r"),
        (
            "karaman2021_birds",
            "eleven triplet losses, each tuned, without and with the miner",
            "without_miner,tuned_without",
            11,
            "recall_at_1",
        ),
    ],
)
def test_the_scores_of_a_card_are_the_published_ones(study, title, variant, losses, metric):
    data = "Cars" if "_cars" in study else "Birds"
    found = rows_of(f"{data}: {title}")
    scores = by_split(study, metric)[variant]
    assert len(found) == losses == len(scores.columns)
    for method, (official, mean, *_) in found.items():
        assert official == pytest.approx(scores[method]["half"], abs=0.0051)
        assert mean == pytest.approx(scores[method].mean(), abs=0.0051)


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

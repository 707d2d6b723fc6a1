"""Differences to runs of another encoding: by hand, and by draws of encodings."""

import math

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.classes import of_runs
from dmlbench.statistics.equivalence import Difference, Further, half_interval, widened
from dmlbench.statistics.other_encodings import shift_of
from dmlbench.statistics.paired import paired_differences
from dmlbench.statistics.tournament import tournament
from long_tables import COMMON, above, long_table
from scipy import stats
from test_classes import QUERIES, ROW
from test_paired_over_splits import SPLITS, over_splits

SHIFTS = {"recall_at_1": (1.5, 4), "map_at_r": (0.2, 4)}
LOSSES = ("contrastive", "triplet", "margin")


def rows(seeds, splits=("half",), **of_method) -> list[dict]:
    """The rows of a long table; a method -> the splits on which its runs have another encoding."""
    return [
        COMMON
        | {"method": method, "variant": "", "seed": seed, "split": split, "run": "r"}
        | ({"shifts": SHIFTS} if split in of_method.get(method, ()) else {})
        for method in LOSSES
        for split in splits
        for seed in range(seeds)
    ]


def by_hand(error: float, freedom: float, shift: float, known: float) -> float:
    """Half of the interval whose variance is that of both, with Satterthwaite's freedom."""
    variance = error**2 + shift**2
    degrees = variance**2 / (error**4 / freedom + shift**4 / known)
    return stats.t.ppf(0.975, degrees) * math.sqrt(variance)


def test_over_seeds_the_shift_is_added_to_differences_between_encodings_alone():
    rng = np.random.default_rng(0)
    shared = rng.uniform(0.4, 0.6, 5)
    values = {(name, ""): list(shared + rng.normal(0, 0.01, 5)) for name in LOSSES}
    references = above("contrastive", "triplet", "margin")
    moved = rows(5, contrastive=["half"], triplet=["half"])
    frame = paired_differences(long_table(values), references, between="method", rows=moved)
    found = {row.method: row for row in frame.itertuples()}
    differences = 100 * np.subtract(values["margin", ""], values["contrastive", ""])
    half = by_hand(stats.sem(differences), 4, 1.5, 4)
    assert found["margin"].ratio < 0.8  # pairs
    assert found["margin"].high - found["margin"].low == pytest.approx(2 * half)
    assert found["margin"].low + half == pytest.approx(differences.mean())
    assert math.isnan(found["margin"].sign)
    plain = paired_differences(long_table(values), references, between="method")
    same = plain[plain.method == "triplet"].iloc[0]
    assert (found["triplet"].low, found["triplet"].high) == pytest.approx((same.low, same.high))
    assert found["margin"].p_value > plain[plain.method == "margin"].p_value.iloc[0]


def test_over_splits_the_shift_counts_with_its_share_of_the_runs():
    rng = np.random.default_rng(1)
    values = {(name, ""): rng.uniform(0.4, 0.6, (5, 3)) for name in ("contrastive", "margin")}
    references = above("contrastive", "margin")
    differences = 100 * (values["margin", ""] - values["contrastive", ""]).mean(axis=1)
    error = differences.std(ddof=1) * (1 / 5 + 1) ** 0.5
    for count in (5, 2):
        moved = rows(3, SPLITS, contrastive=SPLITS[:count])
        frame = paired_differences(over_splits(values), references, between="method", rows=moved)
        half = by_hand(error, 4, 1.5 * count / 5, 4)
        assert frame.high[0] - frame.low[0] == pytest.approx(2 * half)


def test_ranks_over_splits_are_as_uncertain_as_their_differences():
    means = dict(zip(LOSSES, (0.50, 0.505, 0.53), strict=True))
    noise = np.random.default_rng(2).normal(0, 1e-4, (3, 5, 1))
    values = {(m, ""): means[m] + each for m, each in zip(LOSSES, noise, strict=True)}
    ranked = {"metric": "recall_at_1", "methods": LOSSES, "selection": "last_epoch"}
    scores = over_splits(values)
    sure = tournament(scores, **ranked).set_index("method")
    assert list(sure.loc["margin", ["rank_low", "rank_high"]]) == [1, 1]
    moved = rows(1, SPLITS, contrastive=SPLITS, triplet=SPLITS)
    unsure = tournament(scores, rows=moved, **ranked).set_index("method")
    assert list(unsure.loc["margin", ["rank_low", "rank_high"]]) == [1, 3]
    # Of one encoding: still known.
    assert list(unsure.loc["contrastive", ["rank_low", "rank_high"]]) == [2, 3]
    assert set(unsure.loc["margin", "apart_from"]) == set()
    assert set(unsure.loc["triplet", "apart_from"]) == {"contrastive"}


def test_a_metric_without_a_measured_shift_has_no_interval():
    values = {(name, ""): [0.4, 0.5, 0.6] for name in LOSSES}
    scores = long_table(values, metric="nmi")
    moved = rows(3, contrastive=["half"])
    references = above("contrastive", "triplet")
    frame = paired_differences(scores, references, between="method", rows=moved)
    assert frame.difference.notna().all()
    assert frame[["low", "high", "p_value"]].isna().all(axis=None)


def test_other_settings_are_not_moved():
    moved = rows(1, contrastive=["half"])
    assert shift_of(moved, ["method"], "recall_at_1", dataset="birds") is None
    assert shift_of(rows(1), ["method"], "recall_at_1", dataset="glyphs") is None
    found = shift_of(moved, ["method"], "recall_at_1", dataset="glyphs")
    assert found.of({("margin",): 1.0, ("contrastive",): -1.0}) == Further(1.5, 4)
    assert found.of({("margin",): 1.0, ("triplet",): -1.0}) is None


def test_intervals_hold_over_drawn_encodings():
    """A study's encoding and those measured are draws of one size, which nobody knows."""
    rng = np.random.default_rng(3)
    held, alone = [], []
    for _ in range(2000):
        seeds = rng.normal(0, 0.4, 5) + rng.normal(0, 1.0)
        measured = rng.normal(0, 1.0, 4)
        plain = Difference(seeds.mean(), stats.sem(seeds), 4)
        size = float(np.sqrt((measured**2).mean()))
        both = widened(plain, Further(size, 4))
        held.append(abs(both.value) <= half_interval(both))
        alone.append(abs(plain.value) <= half_interval(plain))
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)
    assert np.mean(alone) < 0.5


def test_published_runs_of_other_images_are_refused(tmp_path):
    QUERIES.to_parquet(tmp_path / "here.parquet", index=False)
    QUERIES[1:].to_parquet(tmp_path / "there.parquet", index=False)
    files = [tmp_path / "here.parquet", tmp_path / "there.parquet"]
    other = ROW | {"method": "triplet", "run": "published", "shifts": SHIFTS}
    with pytest.raises(UserError) as error:
        of_runs([ROW | {"run": "mine"}, other], files)
    assert str(error.value) == (
        f"{files[1]}: published tests other classes, or other numbers of images of them, than the "
        "study's other runs on glyphs, half; allowed: published runs of the same images, classes "
        "and split"
    )
    assert isinstance(of_runs([ROW | {"run": "mine"}, other], [files[0]] * 2), pd.DataFrame)

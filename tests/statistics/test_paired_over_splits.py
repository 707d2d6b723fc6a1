"""Differences and spreads over several splits of the classes: what repeats, and its error."""

import math

import numpy as np
import pandas as pd
import pytest
from dmlbench.statistics.aggregation import SCHEMA
from dmlbench.statistics.paired import paired_differences
from dmlbench.statistics.spread import spread_of_methods
from long_tables import COMMON, PROFS, above, long_table, rows_of
from scipy import stats

SPLITS = ("half", "half_draw1", "half_draw2", "half_draw3", "half_draw4")


def over_splits(values: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """(method, variant) -> the scores [splits, seeds], as a long table."""
    return pd.concat(
        long_table({key: scores[number] for key, scores in values.items()}, split=split)
        for number, split in enumerate(SPLITS)
    )


def test_over_splits_the_error_is_that_of_splits_that_share_classes():
    rng = np.random.default_rng(1)
    values = {(name, ""): rng.uniform(0.4, 0.6, (5, 3)) for name in ("contrastive", "margin")}
    references = above("contrastive", "margin")
    (row,) = paired_differences(over_splits(values), references, between="method").itertuples()
    differences = 100 * (values["margin", ""] - values["contrastive", ""]).mean(axis=1)
    error = differences.std(ddof=1) * (1 / 5 + 1) ** 0.5
    half = stats.t.ppf(0.975, 4) * error
    assert row.difference == pytest.approx(differences.mean())
    assert (row.low, row.high) == pytest.approx((row.difference - half, row.difference + half))
    assert row.p_value == pytest.approx(2 * stats.t.sf(abs(row.difference) / error, 4))
    assert (row.pairs, row.unit) == (5, "split")
    assert math.isnan(row.sign)


def test_over_splits_the_mean_over_methods_is_of_splits():
    rng = np.random.default_rng(2)
    values = {
        (name, variant): rng.uniform(0.4, 0.6, (5, 2))
        for name in ("contrastive", "margin")
        for variant in ("", "profs")
    }
    frame = paired_differences(over_splits(values), PROFS)
    mean = rows_of(frame)["", "profs"]
    by_split = [
        values[name, "profs"].mean(axis=1) - values[name, ""].mean(axis=1)
        for name in ("contrastive", "margin")
    ]
    differences = 100 * np.mean(by_split, axis=0)
    half = stats.t.ppf(0.975, 4) * differences.std(ddof=1) * (1 / 5 + 1) ** 0.5
    assert mean.difference == pytest.approx(differences.mean())
    assert mean.high - mean.low == pytest.approx(2 * half)


def test_with_the_scores_of_classes_the_interval_is_of_classes():
    rng = np.random.default_rng(3)
    of_class = {name: rng.uniform(0.3, 0.7, 20) for name in ("contrastive", "margin")}
    halves = {split: rng.permutation(20)[:10] for split in SPLITS[:4]}
    scores, classes = [], []
    for name, values in of_class.items():
        for split, tested in halves.items():
            common = COMMON | {"method": name, "variant": "", "seed": 0, "split": split}
            scores.append(common | {"value": values[tested].mean(), "run": "r"})
            classes += [common | {"label": label, "value": values[label]} for label in tested]
    table = pd.DataFrame(scores, columns=SCHEMA.names)
    references = above("contrastive", "margin")
    found = paired_differences(table, references, between="method", classes=pd.DataFrame(classes))
    (row,) = found.itertuples()
    tested = sorted(set().union(*map(set, halves.values())))
    differences = 100 * (of_class["margin"] - of_class["contrastive"])[tested]
    assert row.unit == "class"
    # No run adds anything here, so that the classes are a plain sample.
    assert row.difference == pytest.approx(differences.mean())
    half = stats.t.ppf(0.975, len(tested) - 1) * stats.sem(differences)
    assert row.high - row.difference == pytest.approx(half)


def test_the_spread_over_splits_has_the_error_of_splits_that_share_classes():
    rng = np.random.default_rng(4)
    values = {(name, ""): rng.uniform(0.4, 0.6, (5, 2)) for name in ("a", "b", "c")}
    (found,) = spread_of_methods(over_splits(values)).itertuples()
    by_split = np.stack(list(values.values())).std(axis=0, ddof=1).mean(axis=1)
    half = stats.t.ppf(0.975, 4) * by_split.std(ddof=1) * (1 / 5 + 1) ** 0.5
    assert found.spread == pytest.approx(by_split.mean())
    assert found.high - found.low == pytest.approx(2 * half)
    assert (found.repeats, found.unit) == (5, "split")

"""A verdict for every printed number: was it reproduced?"""

import re

import numpy as np
import pandas as pd
from scipy.special import fdtri, stdtrit

from dmlbench.statistics.audit.check import CERTAIN, NUMBER, place
from dmlbench.statistics.comparison import BOTH, CITED, OURS_ALONE, compare, selected_alike
from dmlbench.statistics.equivalence import (
    ALPHA,
    Difference,
    beyond_p,
    equivalence_p,
    runs_needed,
)
from dmlbench.statistics.placement import KEY

REPRODUCED = "reproduced"
DIFFERS = "differs"
INCONCLUSIVE = "inconclusive"
NOT_RUN = "not run"
CANNOT_BE = "cannot be"
VERDICTS = (REPRODUCED, DIFFERS, INCONCLUSIVE, NOT_RUN, CANNOT_BE, CITED)
"""Verdicts on a printed number, in the order of tables."""

RULE = (
    "A printed number is reproduced if two one-sided tests show that ours is within the column's "
    "margin of it, and nearer than other methods' numbers. It differs if ours is shown to be "
    "beyond the margin. Otherwise it is inconclusive: too few seeds, or too noisy or too crowded a "
    "column. Each test errs in at most one of twenty cases. A number cannot be if arithmetic alone "
    "contradicts it (`snakemake audit`)."
)

COLUMNS = ["study", "table", "panel", *KEY, "selection", "printed", "ours", "ours_std", "seeds"]
COLUMNS += ["difference", "low", "high", "margin", "nearest", "seeds_needed", "verdict"]

NOISIER = 0.01
"""The p-value of the F test below which the noise of our runs is not that of the document."""

_JUDGED_BY = ["noise", "printed_error", "freedom", "decimals", "margin", "nearest"]


def verdicts(scores: pd.DataFrame, placed: pd.DataFrame, findings: pd.DataFrame) -> pd.DataFrame:
    """A verdict for every printed number, by `RULE`.

    The noise of a run is the document's, pooled with the deviation of our runs; where ours is
    significantly larger, it is ours alone. A printed number has its own standard error, and is
    rounded. So one run of ours has an interval as well.

    Args:
        scores: the long table of scores (fractions), one for each row, role and metric.
        placed: as `margins.with_margins` gives it.
        findings: the checks of the audit, with the columns of `audit.COLUMNS`.

    Returns:
        One row per printed number, in their order, with `COLUMNS`: the place; `selection`, the rule
        by which the epoch of ours was chosen; `printed` and `ours` in the unit of the metric;
        `difference` is ours - printed, and `low` and `high` are the 90 % interval of its
        expectation over seeds of ours and reruns of theirs, which the two one-sided tests compare
        with the `margin` and with `nearest`, the distance of the numbers that it must not be
        mistaken for; `seeds_needed` says how many seeds of ours show with 80 % probability that a
        true number is reproduced, infinite if none do; `verdict` is one of `VERDICTS`. A number
        that was selected by another rule than ours has no verdict but `not run`. Unknown values
        are missing.
    """
    impossible = _impossible(placed, findings)
    parts = []
    # A table that repeats numbers of another one has the same places.
    for _, cells in placed.groupby("table", sort=False):
        compared = compare(scores, cells)
        compared = compared[compared["status"] != OURS_ALONE].drop(columns=["low", "high"])
        kept = cells[["study", "table", "panel", *KEY, *_JUDGED_BY]]
        parts.append(kept.merge(compared, on=KEY, how="left"))
    numbers = pd.concat(parts, ignore_index=True)
    deviation, difference = _difference(numbers)
    half = stdtrit(difference.freedom, 1 - ALPHA) * difference.error
    small = np.fmin(numbers["margin"], numbers["nearest"])
    numbers["low"], numbers["high"] = numbers["difference"] - half, numbers["difference"] + half
    numbers["seeds_needed"] = _seeds_needed(numbers, deviation, small)
    numbers["verdict"] = np.select(
        [
            numbers["status"] == CITED,
            impossible,
            (numbers["status"] != BOTH) | ~selected_alike(numbers),
            equivalence_p(difference, small.to_numpy()) <= ALPHA,
            beyond_p(difference, numbers["margin"].to_numpy()) <= ALPHA,
        ],
        [CITED, CANNOT_BE, NOT_RUN, REPRODUCED, DIFFERS],
        INCONCLUSIVE,
    )
    return numbers[COLUMNS]


def _difference(numbers: pd.DataFrame) -> tuple[pd.Series, Difference]:
    """The deviation of one run of ours, and the estimated difference."""
    further = numbers["seeds"].clip(lower=1) - 1
    known, freedom = numbers["noise"] ** 2, numbers["freedom"]
    own = numbers["ours_std"] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = known * fdtri(further.clip(lower=1), freedom, 1 - NOISIER)
    alone = (own > largest) | (known.isna() & own.notna())
    pooled = (freedom * known + further * own.fillna(0)) / (freedom + further)
    variance = own.where(alone, pooled)
    rounding = 10.0 ** (-2 * numbers["decimals"].astype(float)) / 12
    # Without any noise of theirs, their number is taken for one more run of ours.
    theirs = (numbers["printed_error"] ** 2).fillna(variance) + rounding
    error = np.sqrt(variance / (further + 1) + theirs)
    freedom = further.where(alone & freedom.isna(), freedom)
    freedom = np.fmin(freedom, further).where(alone, freedom)
    columns = (numbers["difference"], error, freedom)
    return np.sqrt(variance), Difference(*(column.to_numpy(float) for column in columns))


def _seeds_needed(numbers: pd.DataFrame, deviation: pd.Series, margin: pd.Series) -> pd.Series:
    """How many seeds would be needed; missing where no noise is known, or nothing to run."""
    rounding = 10.0 ** (-2 * numbers["decimals"].astype(float)) / 12
    error = np.sqrt((numbers["printed_error"] ** 2).fillna(deviation**2) + rounding)
    known = deviation.notna() & margin.notna() & (numbers["status"] != CITED)
    freedom = numbers["freedom"].fillna(numbers["seeds"] - 1)
    needed = pd.Series(np.nan, index=numbers.index)
    needed[known] = runs_needed(
        deviation[known].to_numpy(),
        margin[known].to_numpy(),
        error=error[known].to_numpy(),
        freedom=freedom[known].to_numpy(),
    )
    return needed


def _impossible(placed: pd.DataFrame, findings: pd.DataFrame) -> np.ndarray:
    """Which printed numbers arithmetic alone contradicts."""
    of_numbers = (findings["blames"] == NUMBER) & (findings["method"] != "")
    several = findings["method"].str.fullmatch(r"\d+ methods").astype(bool)
    certain = findings[(findings["sure"] == CERTAIN) & of_numbers & ~several]
    tables = [
        place(table, panel) for table, panel in zip(placed["table"], placed["panel"], strict=True)
    ]
    contradicted = np.zeros(len(placed), dtype=bool)
    for finding in certain.itertuples():
        contradicted |= _about(finding, placed, pd.Series(tables, index=placed.index)).to_numpy()
    return contradicted


def _about(finding, placed: pd.DataFrame, tables: pd.Series) -> pd.Series:
    """The printed numbers of a finding, which may name several metrics at once."""
    about = (tables == finding.table) & (placed["printed_method"] == finding.method)
    about &= placed["printed_variant"] == finding.variant
    if finding.dataset:
        about &= placed["dataset"] == finding.dataset
    several = re.fullmatch(r"R@([\d/]+)", finding.metric)
    if several:
        return about & placed["k"].isin([float(k) for k in several[1].split("/")])
    return about & placed["metric"].isin(finding.metric.split(", "))

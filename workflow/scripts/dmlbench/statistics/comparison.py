"""Our scores next to the printed ones: the difference, and whether our runs explain it."""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dmlbench.errors import UserError
from dmlbench.statistics.placement import KEY, find
from dmlbench.statistics.summary import in_units, summarize

COLUMNS = [*KEY, "status", "selection", "ours", "ours_std", "seeds", "printed", "printed_std"]
COLUMNS += ["printed_selection", "difference", "low", "high", "inside"]

BOTH = "both"
OURS_ALONE = "ours alone"
NOT_RUN = "not run"
CITED = "cited"

NOISE = 1e-9
"""Floating-point noise of a difference of percentages."""


def compare(ours: pd.DataFrame, placed: pd.DataFrame) -> pd.DataFrame:
    """Every score of ours next to its printed number; neither is lost if the other is missing.

    The interval contains a number of theirs in 95 % of all cases if their runs come from the
    distribution of ours. For a printed number of one run it is Student's prediction interval
    for one further run, mean +- t(n - 1) s sqrt(1 + 1/n); for a printed mean with its own standard
    error e it is Welch's, mean +- t(f) sqrt(s^2/n + e^2), with Satterthwaite's f degrees of
    freedom. A printed mean without a spread, or with one of 0, is taken for one run, which makes
    the interval too wide rather than too narrow. One run of ours gives no interval.

    A printed number is inside if one that rounds to it is: intervals can be narrower than half a
    last digit. A number that was selected by another rule than ours has no interval.

    Args:
        ours: the long table of scores (fractions), each key under one selection rule.
        placed: as `statistics.placement.place` gives it (in the printed unit).

    Returns:
        One row per key, sorted, with `COLUMNS`: `fold` is `mean` if the printed number averages
        folds and `best` if it is that of the best one; `status` is `both`, `ours alone`, `not run`,
        or `cited` for a number without a place among ours; `selection` is the rule of ours and
        `printed_selection` that of the printed number (empty for its run's own); `ours` and
        `printed` are in the unit of the metric, `ours_std` is an n-1 standard deviation,
        `printed_std` the spread as printed;
        `seeds` says how many runs `ours` averages (folds, if the printed number averages folds);
        `difference` is ours - printed; `inside` says whether the printed number, give or take half
        its last digit, is between `low` and `high`. Unknown values are missing.

    Raises:
        UserError: ours under several selection rules or of several recipes for one key; two printed
            numbers for one key.
    """
    theirs = _theirs(placed)
    summarized = _found(find(ours, placed))
    both = summarized.merge(theirs, how="outer", on=KEY, sort=True, indicator="status")
    named = {"both": BOTH, "left_only": OURS_ALONE, "right_only": NOT_RUN}
    both["status"] = both["status"].astype(str).map(named).mask(both["why"].fillna("") != "", CITED)
    both["seeds"] = both["seeds"].fillna(0).astype("int64")
    both["difference"] = both["ours"] - both["printed"]
    half = _half_width(both).where(selected_alike(both))
    both["low"], both["high"] = both["ours"] - half, both["ours"] + half
    digit = 0.5 * 10.0 ** -both["decimals"].astype("float64") + NOISE
    inside = (both["difference"].abs() <= half + digit).astype("boolean")
    both["inside"] = inside.where(both["difference"].notna() & half.notna())
    return both[COLUMNS]


def selected_alike(compared: pd.DataFrame) -> pd.Series:
    """Whether each printed number was selected as ours was; true where there is none."""
    theirs = compared["printed_selection"].fillna("")
    return (theirs == "") | (theirs == compared["selection"])


def _half_width(both: pd.DataFrame) -> pd.Series:
    """Half of each interval's width; missing for fewer than two runs of ours."""
    seeds = both["seeds"].where(both["seeds"] > 1)
    ours = both["ours_std"] ** 2 / seeds
    theirs = both["error"].where(both["error"] > 0) ** 2
    welch = (ours + theirs) ** 2 / (ours**2 / (seeds - 1) + theirs**2 / (both["runs"] - 1))
    freedom = welch.fillna(seeds - 1)
    variance = ours + theirs.fillna(both["ours_std"] ** 2)
    return np.sqrt(variance) * stdtrit(freedom, 0.975)


def _found(scores: pd.DataFrame) -> pd.DataFrame:
    scores = in_units(scores.astype({"embedding_dim": "Int64"}))
    grouped = scores.groupby(KEY, sort=False)
    for column, what in (
        ("selection", "under several selection rules"),
        ("recipe", "of several recipes"),
    ):
        for key in grouped[column].nunique().loc[lambda count: count > 1].index:
            several = ", ".join(sorted(grouped.get_group(key)[column].unique()))
            raise UserError(f"{_named(key)}: scores {what} ({several}); allowed: one")
    rules = grouped["selection"].first().reset_index()
    summaries = summarize(scores, KEY).merge(rules, on=KEY)
    return summaries.rename(columns={"mean": "ours", "std": "ours_std"})


def _theirs(placed: pd.DataFrame) -> pd.DataFrame:
    for row in placed[placed.duplicated(KEY)].itertuples():
        key = _named(getattr(row, column) for column in KEY)
        raise UserError(f"two printed numbers for {key}; allowed: one, so compare fewer tables")
    columns = [*KEY, "number", "decimals", "printed_std", "error", "runs", "why", "selection"]
    named = {"number": "printed", "selection": "printed_selection"}
    return placed[columns].rename(columns=named)


def _named(key) -> str:
    return " ".join(str(part) for part in key if part != "")

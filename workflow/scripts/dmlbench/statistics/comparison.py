"""Our scores beside the printed ones: the difference, and whether our runs allow for it."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.errors import UserError

KEY = ["dataset", "network", "embedding_dim", "method", "variant", "role", "metric"]
COLUMNS = [*KEY, "status", "ours", "ours_std", "seeds", "printed", "printed_std"]
COLUMNS += ["difference", "low", "high", "inside"]

BOTH = "both"
OURS_ALONE = "ours alone"
NOT_RUN = "not run"


class Repeats(NamedTuple):
    """What stands behind a number that is printed with a spread.

    Attributes:
        runs: how many runs it is the mean of; infinite where the paper does not say.
        errors: how many standard errors of that mean the printed spread is.
    """

    runs: float
    errors: float


REPEATS = {
    "musgrave2020": Repeats(np.inf, stats.norm.ppf(0.975)),
    "psomas2020": Repeats(10, 10**0.5),
    "roth2020": Repeats(5, 5**0.5),
}
"""Study -> its numbers with a spread: n-1 standard deviations over psomas2020's ten folds (table
12) and roth2020's five runs; half-widths of 95 % intervals over musgrave2020's reruns, whose
number is not printed, so that they are read as 1.96 standard errors. A printed number without a
spread is one run's."""

_METRICS = {"precision_at_1": "recall_at_1"}
_ROLES = {"val": "validation"}


def compare(ours: pd.DataFrame, printed: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Every score of ours beside its printed number; neither is lost where the other is missing.

    The interval is where a number of theirs falls, in `level` of all cases, if their runs come
    from the distribution of ours. For a printed number of one run it is Student's prediction
    interval for one further run, mean +- t(n - 1) s sqrt(1 + 1/n); for a printed mean with its
    own standard error e it is Welch's, mean +- t(f) sqrt(s^2/n + e^2), with Satterthwaite's f
    degrees of freedom. One run of ours gives no interval.

    Args:
        ours: the long table of scores (fractions) under one selection rule.
        printed: as `statistics.printed.read_printed` gives it (percent).
        level: in (0, 1).

    Returns:
        A row a key, sorted, with `COLUMNS`: `variant` is the split in the words of the printed
        tables (empty for the study's usual one); `status` is `both`, `ours alone` or `not run`;
        `ours` and `printed` are percent, `ours_std` is an n-1 standard deviation, `printed_std`
        the spread as printed; `seeds` says how many runs `ours` averages (folds, where the
        printed number averages folds); `difference` is ours - printed; `inside` says whether
        the printed number lies between `low` and `high`. What is not known is missing.

    Raises:
        UserError: ours under several selection rules, or of several recipes or splits for one
            key; two printed numbers for one key.
    """
    theirs = _theirs(printed)
    found = _found(ours, set(theirs["variant"]))
    both = found.merge(theirs, how="outer", on=KEY, sort=True, indicator="status")
    named = {"both": BOTH, "left_only": OURS_ALONE, "right_only": NOT_RUN}
    both["status"] = both["status"].astype(str).map(named)
    both["seeds"] = both["seeds"].fillna(0).astype("int64")
    both["difference"] = both["ours"] - both["printed"]
    half = _half_width(both, level)
    both["low"], both["high"] = both["ours"] - half, both["ours"] + half
    inside = both["printed"].between(both["low"], both["high"]).astype("boolean")
    both["inside"] = inside.where(both["difference"].notna() & half.notna())
    return both[COLUMNS]


def _half_width(both: pd.DataFrame, level: float) -> pd.Series:
    """Half of each interval's width; missing for fewer than two runs of ours."""
    seeds = both["seeds"].where(both["seeds"] > 1)
    ours = both["ours_std"] ** 2 / seeds
    theirs = both["error"] ** 2
    welch = (ours + theirs) ** 2 / (ours**2 / (seeds - 1) + theirs**2 / (both["runs"] - 1))
    freedom = welch.fillna(seeds - 1)
    variance = ours + theirs.fillna(both["ours_std"] ** 2)
    return np.sqrt(variance) * stats.t.ppf((1 + level) / 2, freedom)


def _found(scores: pd.DataFrame, printed_variants: set[str]) -> pd.DataFrame:
    rules = sorted(scores["selection"].unique())
    if len(rules) > 1:
        raise UserError(f"scores under several selection rules ({', '.join(rules)}); allowed: one")
    places = zip(scores["split"], scores["fold"], strict=True)
    variants = [_variants(split, fold, printed_variants) for split, fold in places]
    rows = scores.assign(variant=variants)
    rows = rows.explode("variant").astype({"embedding_dim": "Int64", "variant": "str"})
    grouped = rows.groupby(KEY, sort=False)
    for column, what in (("recipe", "recipes"), ("split", "splits")):
        for key in grouped[column].nunique().loc[lambda count: count > 1].index:
            several = sorted(grouped.get_group(key)[column].unique())
            raise UserError(
                f"{' '.join(map(str, key))}: scores of several {what} ({', '.join(several)}); "
                "allowed: one"
            )
    values = grouped["value"].agg(ours="mean", ours_std="std", seeds="count").reset_index()
    values[["ours", "ours_std"]] *= 100
    return values


def _theirs(printed: pd.DataFrame) -> pd.DataFrame:
    spread = pd.to_numeric(printed["std"], errors="coerce")
    repeats = [REPEATS.get(study, Repeats(1, np.nan)) for study in printed["study"]]
    theirs = pd.DataFrame(
        {
            **{column: printed[column] for column in ("dataset", "network", "method")},
            "embedding_dim": pd.to_numeric(printed["embedding_dim"]).astype("Int64"),
            "variant": printed["variant"].str.removesuffix(";tuned"),
            "role": printed["split"].replace(_ROLES),
            "metric": printed["metric"].replace(_METRICS),
            "printed": printed["number"],
            "printed_std": spread,
            "error": spread / [each.errors for each in repeats],
            "runs": [each.runs for each in repeats],
        }
    )
    for row in theirs[theirs.duplicated(KEY)].itertuples():
        key = " ".join(str(getattr(row, column)) for column in KEY)
        raise UserError(f"two printed numbers for {key}; allowed: one, so compare fewer tables")
    return theirs


def _variants(split: str, fold: str, printed: set[str]) -> list[str]:
    """What the printed tables call a split of ours; a fold counts for the mean over folds too."""
    if split == "half10fold":
        own = f"cv10_fold={int(fold) + 1}"
        return [variant for variant in ("cv10_mean", own) if variant in printed] or [own]
    if fixed := re.fullmatch(r"fixed-(\d+)", split):
        return [f"fixed_val_split={fixed[1]}/{100 - int(fixed[1])}"]
    return [""]

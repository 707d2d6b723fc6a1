"""How far the scores of methods are apart."""

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import ROW
from dmlbench.statistics.equivalence import half_interval
from dmlbench.statistics.other_classes import SEED, SPLIT, of_splits
from dmlbench.statistics.paired import paired


def spread_of_methods(scores: pd.DataFrame) -> pd.DataFrame:
    """The standard deviation of the methods' scores, seed by seed or split by split, summarized.

    Args:
        scores: the long table of scores of one selection rule and role.

    Returns:
        One row per metric and combination of the columns other than method, split and seed:
        `spread` (n - 1) and its 95 % interval, `low` to `high`, in the unit of the scores,
        `methods`, `repeats` (how many seeds, or splits of the classes where there are several) and
        `unit` (what repeats behind the interval, `other_classes.ABOUT`).

    Raises:
        UserError: fewer than two methods, or a seed or split that some methods lack or have twice.
    """
    alike = [column for column in ROW if column != "method"] + ["metric"]
    spreads = scores.groupby(alike, sort=False)["value"].agg(spread="std", methods="count")
    key = [column for column in alike if column not in ("split", "seed")]
    there = scores.groupby(key, sort=False)["method"].nunique().rename("there").reset_index()
    there = spreads.reset_index().merge(there, on=key)["there"].to_numpy()
    counts = set(spreads["methods"])
    if len(counts) > 1 or min(counts) < 2 or (spreads["methods"] != there).any():
        listed = ", ".join(map(str, sorted({*counts, *there.tolist()})))
        raise UserError(f"{listed} methods per seed; allowed: the same methods, at least 2, in all")
    key = [*key, "methods"]
    rows = []
    for names, group in spreads.reset_index().groupby(key, sort=False):
        by_split = group.groupby("split", sort=False)["spread"].mean()
        if len(by_split) > 1:
            mean = of_splits(by_split)
            ends = mean.value - half_interval(mean), mean.value + half_interval(mean)
            rows.append((*names, mean.value, *ends, len(by_split), SPLIT))
        else:
            mean = paired(group["spread"])
            rows.append((*names, mean.mean, mean.low, mean.high, mean.pairs, SEED))
    return pd.DataFrame(rows, columns=[*key, "spread", "low", "high", "repeats", "unit"])

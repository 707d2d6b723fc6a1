"""Scores under a selection rule, in the unit of their metric, and their means over seeds."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity


def of_rule(scores: pd.DataFrame, selection: str, role: str = "test") -> pd.DataFrame:
    """The scores of one role under a selection rule; those without a selected epoch fit any."""
    return scores[scores["selection"].isin([selection, "none"]) & (scores["role"] == role)]


def check_one(scores: pd.DataFrame, columns: Iterable[str], whose: str) -> None:
    """Raise a UserError for a column of which scores have several values.

    Args:
        whose: how the message begins: `method margin has`.
    """
    for column in columns:
        values = sorted(scores[column].unique())
        if len(values) > 1:
            listed = ", ".join(str(value) or "base" for value in values)
            raise UserError(f"{whose} several values of {column} ({listed}); allowed: one")


def in_units(scores: pd.DataFrame) -> pd.DataFrame:
    """A long table whose column `value` is in the unit of each score's metric: percent or not."""
    factors = {metric: quantity(metric).factor for metric in scores["metric"].unique()}
    return scores.assign(value=scores["value"] * [factors[metric] for metric in scores["metric"]])


def select(
    scores: pd.DataFrame,
    *,
    selection: str,
    role: str = "test",
    metrics: Iterable[str] | None = None,
) -> pd.DataFrame:
    """`of_rule` in the units of the metrics; of all metrics if none are given."""
    kept = of_rule(scores, selection, role)
    return in_units(kept if metrics is None else kept[kept["metric"].isin(list(metrics))])


def summarize(values: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Mean, spread and interval of the values with the same keys, one for each seed.

    Args:
        values: a column `value`, and the keys.

    Returns:
        The keys, `mean`, `std` (n - 1), `seeds` (how many values) and `half`, half of Student's
        95 % interval of the mean, in the order of the values. One value has neither std nor half.
    """
    grouped = values.groupby(list(keys), sort=False)["value"]
    summary = grouped.agg(mean="mean", std="std", seeds="count")
    return summary.assign(half=half_width(summary["std"], summary["seeds"])).reset_index()


def half_width(std, seeds):
    """Half of Student's 95 % interval of the mean of `seeds` values with this deviation.

    Args:
        std: of the values (n - 1).
        seeds: how many there are; of a single one the interval is missing.
    """
    return stdtrit(np.maximum(seeds - 1, 1), 0.975) * (std * np.sqrt(1 / seeds))

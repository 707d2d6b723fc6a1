"""Means over seeds with their confidence intervals, shared by figures."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit


def with_intervals(values: pd.DataFrame, keys: Sequence[str], *, level: float = 0.95):
    """Means over rows with the same keys, with half of Student's interval of the mean.

    Args:
        values: a column `value` and the keys.
        keys: the columns to group by.
        level: confidence, in (0, 1).

    Returns:
        Frame with the keys, `mean`, `half` (missing for one value) and `count`.
    """
    found = values.groupby(list(keys), sort=False)["value"].agg(["mean", "std", "count"])
    several = found["count"] > 1
    free = (found["count"] - 1).where(several, 1)
    half = stdtrit(free, (1 + level) / 2) * found["std"] / np.sqrt(found["count"])
    return found.assign(half=half.where(several)).drop(columns="std").reset_index()


def tested(scores: pd.DataFrame, selection: str, metric: str) -> pd.DataFrame:
    """Test scores of one metric in percent, of one selection rule or of none."""
    kept = scores[scores.selection.isin([selection, "none"]) & (scores.role == "test")]
    kept = kept[kept.metric == metric]
    return kept.assign(value=100 * kept.value)

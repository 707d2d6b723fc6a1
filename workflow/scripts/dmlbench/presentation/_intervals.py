"""Means over seeds with their confidence intervals, shared by figures."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dmlbench.presentation._scores import of_rule


def with_intervals(values: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Means over rows with the same keys, with half of Student's 95 % interval of the mean.

    Args:
        values: a column `value` and the keys.
        keys: the columns to group by.

    Returns:
        Frame with the keys, `mean`, `std` (n - 1), `count` and `half`, in the order of the values;
        one value has neither std nor half.
    """
    found = values.groupby(list(keys), sort=False)["value"].agg(["mean", "std", "count"])
    half = stdtrit((found["count"] - 1).clip(lower=1), 0.975) * found["std"]
    return found.assign(half=half / np.sqrt(found["count"])).reset_index()


def tested(scores: pd.DataFrame, selection: str, metric: str) -> pd.DataFrame:
    """Test scores of one metric in percent, of one selection rule or of none."""
    kept = of_rule(scores[scores.metric == metric], selection)
    return kept.assign(value=100 * kept.value)

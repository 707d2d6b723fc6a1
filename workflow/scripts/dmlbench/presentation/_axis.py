"""Scores along a numeric axis of the variants, summarized over seeds."""

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.presentation import _variants
from dmlbench.statistics.summary import in_units, summarize


def along_axis(scores: pd.DataFrame, *, axis: str, metric: str, role: str) -> pd.DataFrame:
    """Mean over seeds by method and by value of a numeric axis of the variants.

    Args:
        scores: the long table of scores.
        axis: `projection` for variants such as `projection=5`.
        metric: any metric of the table, also one of an experiment.
        role: whose scores.

    Returns:
        Frame with method, x, and the columns of `summarize` in the metric's unit, in the order of
        the scores.

    Raises:
        UserError: no scores match, or two have the same method, number and seed.
    """
    kept = scores[(scores.metric == metric) & (scores.role == role)]
    kept = kept.assign(x=pd.to_numeric(_variants.values_of(kept, axis), errors="coerce"))
    kept = kept.dropna(subset="x")
    if kept.empty:
        raise UserError(f"no scores of {metric} with role {role} have a variant {axis}=<number>")
    repeated = kept[kept.duplicated(["method", "x", "seed"])]
    if len(repeated):
        first = repeated.iloc[0]
        raise UserError(
            f"method {first.method} has several scores at {axis}={first.x:g}; allowed: one"
        )
    return summarize(in_units(kept), ["method", "x"])

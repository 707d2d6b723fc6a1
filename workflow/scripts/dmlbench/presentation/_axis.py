"""Scores along a numeric axis of the variants, summarized over seeds."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.presentation import _variants
from dmlbench.statistics.summary import select, summarize

LINE = ("dataset", "method", "rest", "metric")


def along_axis(
    scores: pd.DataFrame,
    *,
    axis: str,
    metrics: Sequence[str],
    selection: str,
    role: str,
    change: Sequence[str] = (),
    line: Sequence[str] = LINE,
) -> pd.DataFrame:
    """Means over seeds of each line, by the number of an axis of the variants.

    Args:
        scores: the long table of scores.
        axis: `projection` for variants such as `projection=5`.
        metrics: any metrics of the table, also of an experiment.
        selection, role: which scores.
        change: further parts of the variants that do not distinguish lines.
        line: what distinguishes lines; `rest` is the variant without axis and change.

    Returns:
        Frame with the columns of `line`, x, and the columns of `summarize`, metrics in the given
        order.

    Raises:
        UserError: no scores match, or two have the same line, number and seed.
    """
    kept = select(scores, selection=selection, role=role, metrics=metrics)
    x = pd.to_numeric(_variants.values_of(kept, axis), errors="coerce")
    rest = [_variants.without(variant, (axis, *change)) for variant in kept.variant]
    kept = kept.assign(x=x, rest=rest).dropna(subset="x")
    if kept.empty:
        raise UserError(
            f"no scores of {', '.join(metrics)} with role {role} have a variant {axis}=<number>; "
            f"variants are, among others: {', '.join(sorted(set(scores.variant))[:5]) or 'none'}"
        )
    repeated = kept[kept.duplicated([*line, "x", "seed"])]
    if len(repeated):
        first = repeated.iloc[0]
        raise UserError(
            f"method {first.method} has several scores at {axis}={first.x:g}; allowed: one"
        )
    place = {metric: number for number, metric in enumerate(metrics)}
    kept = kept.sort_values("metric", key=lambda metric: metric.map(place), kind="stable")
    return summarize(kept, [*line, "x"])

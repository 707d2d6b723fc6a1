"""Scores as shares of the best, so that losses and metrics can be averaged together."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.plan.catalogs.rows import all_but
from dmlbench.presentation import _variants
from dmlbench.statistics.summary import select, summarize


def relative(scores: pd.DataFrame, axis: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Each score divided by the best of its loss and metric along an axis.

    roth2020, section 4.2: "for each loss, every metric is normalized by the maximum across the
    evaluated value range".

    Args:
        scores: mean scores, with dataset, method, variant, metric and value.
        axis: a column, or an axis of the variants; scores without it are left out.
        metrics: which metrics.

    Returns:
        Frame with dataset, method, rest (the variant without the axis), metric, the axis's value
        as `at`, and `share` in percent.

    Raises:
        UserError: no score has the axis and a metric.
    """
    at = _variants.values_of(scores, axis)
    kept = scores.assign(at=at, rest=[_variants.without(v, (axis,)) for v in scores.variant])
    kept = kept[(kept["at"] != "") & kept.metric.isin(list(metrics))]
    if kept.empty:
        raise UserError(f"no scores of {', '.join(metrics)} along {axis}")
    values = kept.groupby(["dataset", "method", "rest", "metric"])["value"]
    lower = kept["metric"].map(lambda metric: quantity(metric).better == "lower")
    best = values.transform("min").where(lower, values.transform("max"))
    kept = kept.assign(share=(100 * kept["value"] / best).where(best > 0))
    return kept[["dataset", "method", "rest", "metric", "at", "share"]]


def means(scores: pd.DataFrame, selection: str) -> pd.DataFrame:
    """Mean test scores over seeds, in the units of their metrics, of one selection rule."""
    over = [*all_but("recipe", "split", "fold", "seed"), "metric"]
    return summarize(select(scores, selection=selection), over).rename(columns={"mean": "value"})

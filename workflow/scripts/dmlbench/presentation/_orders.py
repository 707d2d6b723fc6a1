"""The scores of losses on several networks, data sets and splits, for views of their orders."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation.kind import Kind
from dmlbench.statistics.generalizability import by_run
from dmlbench.statistics.summary import select


def by_metric(kind: Kind, scores: pd.DataFrame, metrics: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Metric -> the losses' test scores by run, as `by_run` gives them, in its unit."""
    kept = select(scores, selection=kind.selection)
    if kind.compared:
        kept = kept[kept.method.isin(kind.compared)]
    return {metric: by_run(kept[kept.metric == metric]) for metric in metrics}

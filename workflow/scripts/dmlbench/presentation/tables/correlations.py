"""How measures of runs correlate with their scores, over methods and variants."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation._points import points
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Table
from dmlbench.statistics.correlation import correlate
from dmlbench.values import Metric


class Correlations(Kind):
    """The correlation of each of some metrics with another one, one panel per data set.

    A point is a method with its variant, the mean over its seeds.

    Attributes:
        x: the metrics of the training images, a row each.
        y: the metric of the test images that they are correlated with.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"

    def __call__(self, scores: pd.DataFrame) -> Table:
        several = scores.dataset.nunique() > 1
        records = []
        for dataset, ours in scores.groupby("dataset", sort=False):
            for x in self.x:
                measured = points(ours, x=x, y=self.y, selection=self.selection)
                panel = self.name(dataset) if several else ""
                found = correlate(measured.x, measured.y)._asdict()
                records.append(found | {"label": self.name(x), "panel": panel})
        y = self.name(self.y)
        return self.listed(f"With {y}", self.shown(), records, self.said(y=y))

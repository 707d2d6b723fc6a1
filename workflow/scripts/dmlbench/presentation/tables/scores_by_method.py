"""Rows of methods, columns of metrics within embedding sizes."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._scores import pick, present
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Column, Table, TableRow, legend, summarized
from dmlbench.values import Metric

NEEDS = "one_family"


class ScoresByMethod(Kind):
    """Scores of every method on one data set and network, like psomas2020's tables 6 to 10.

    Under any selection rule except `last_epoch` each embedding size has one more column, the first
    metric at the last epoch. A method without scores has no row.

    Attributes:
        metrics: columns within each embedding size.
    """

    metrics: Sequence[Metric]

    def __call__(self, scores: pd.DataFrame) -> Table:
        shown = {self.selection: self.metrics}
        if self.selection != "last_epoch":
            shown["last_epoch"] = self.metrics[:1]
        picked = {
            rule: pick(scores, methods=self.everyone, metrics=metrics, selection=rule)
            for rule, metrics in shown.items()
        }
        means = picked[self.selection]
        cells = {
            (rule, row.method, row.embedding_dim, row.metric): row
            for rule, frame in picked.items()
            for row in frame.itertuples()
        }
        keys = [
            (rule, dim, metric)
            for dim in sorted(means.embedding_dim.unique())
            for rule, metrics in shown.items()
            for metric in metrics
        ]
        columns = [self._column(*key) for key in keys]
        rows = [
            TableRow(
                self.name(method) + self.year(method, " ({})"),
                tuple(summarized(cells.get((rule, method, *key))) for rule, *key in keys),
                baseline=method == self.baseline,
            )
            for method in present(means, self.everyone)
        ]
        return self.table("Loss", columns, rows, self._caption(means) + legend(columns))

    def _column(self, rule: str, dim: int, metric: str) -> Column:
        last = rule != self.selection
        return Column(
            name=f"d{dim}_{metric}" + ("_last_epoch" if last else ""),
            header=self.name(metric) + (", last epoch" if last else ""),
            group=f"{dim}-D",
            better=quantity(metric).better,
        )

    def _caption(self, means: pd.DataFrame) -> str:
        unit = in_percent(self.titles, self.metrics)
        caption = f"Scores on the test classes{unit}. {self.selected}"
        if self.selection != "last_epoch":
            caption += " The last-epoch column is free of that choice."
        if means.seeds.max() > 1:
            fewest, most = means.seeds.min(), means.seeds.max()
            seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
            caption += f" Mean ± standard deviation over {seeds} seeds."
        return caption

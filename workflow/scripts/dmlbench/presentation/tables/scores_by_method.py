"""Rows of methods, columns of metrics within embedding sizes."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._scores import pick, present
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent, selected
from dmlbench.presentation.table import Cell, Column, Row, Table, legend
from dmlbench.values import Metric

NEEDS = "one_family"


class ScoresByMethod(Kind):
    """Scores of every method on one data set and network, like psomas2020's tables 6 to 10.

    Attributes:
        metrics: columns within each embedding size.
    """

    metrics: Sequence[Metric]

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of a study's scores; a method without any has no row.

        Raises:
            UserError: no scores fit, or more than one data set, network, split or recipe does.
        """
        methods = self.everyone
        views = [(self.selection, self.metrics)]
        if self.selection != "last_epoch":
            views.append(("last_epoch", self.metrics[:1]))
        picked = {
            rule: pick(scores, methods=methods, metrics=metrics, selection=rule)
            for rule, metrics in views
        }
        shown = picked[self.selection]
        cells = {
            (rule, row.method, row.embedding_dim, row.metric): _cell(row)
            for rule, frame in picked.items()
            for row in frame.itertuples()
        }
        keys = [
            (rule, dim, metric)
            for dim in sorted(shown.embedding_dim.unique())
            for rule, metrics in views
            for metric in metrics
        ]
        columns = [self._column(rule, dim, metric) for rule, dim, metric in keys]
        rows = [
            Row(
                self._label(method),
                tuple(cells.get((rule, method, d, m), Cell(None)) for rule, d, m in keys),
                baseline=method == self.baseline,
            )
            for method in present(shown, methods)
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=self._caption(shown, columns),
            row_header="Loss",
            columns=tuple(columns),
            rows=tuple(rows),
        )

    def _column(self, rule: str, dim: int, metric: str) -> Column:
        last = rule != self.selection
        header = self.name(metric)
        return Column(
            name=f"d{dim}_{metric}" + ("_last_epoch" if last else ""),
            header=f"{header}, last epoch" if last else header,
            group=f"{dim}-D",
            better=quantity(metric).better,
        )

    def _label(self, method: str) -> str:
        year = f" ({self.years[method]})" if method in self.years else ""
        return self.name(method) + year

    def _caption(self, shown: pd.DataFrame, columns: Sequence[Column]) -> str:
        unit = in_percent(self.titles, self.metrics)
        caption = f"Scores on the test classes{unit}. {selected(self.selection)}"
        if self.selection != "last_epoch":
            caption += " The last-epoch column is free of that choice."
        if shown.seeds.max() > 1:
            fewest, most = shown.seeds.min(), shown.seeds.max()
            seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
            caption += f" Mean ± standard deviation over {seeds} seeds."
        return caption + legend(columns)


def _cell(row) -> Cell:
    return Cell(row.mean, row.std if row.seeds > 1 else None)

"""Rows of methods, columns of metrics within embedding sizes."""

from collections.abc import Mapping, Sequence

import pandas as pd

from dmlbench.presentation._scores import pick, present
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Fact, Metric

NEEDS = "one_family"


class ScoresByMethod:
    """Scores of every method on one data set and network, like psomas2020's tables 6 to 10.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        methods: rows, in the study's (chronological) order.
        metrics: columns within each embedding size; percent, the higher the better.
        selection: the selection rule of the scores. Under any rule except `last_epoch` each
            embedding size has one more column, the first metric at the last epoch.
        years: method -> year of publication, printed after its name.
        baseline: the method below the others, not compared with them.
        dataset, network, split: which scores; None if the scores have only one.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        methods: Fact[Sequence[str]],
        metrics: Sequence[Metric],
        selection: Fact[str],
        years: Fact[Mapping[str, int] | None] = None,
        baseline: Fact[str | None] = "untrained",
        dataset: str | None = None,
        network: str | None = None,
        split: str | None = None,
    ):
        self.id = id
        self.title = title
        self.methods = [method for method in methods if method != baseline]
        self.metrics = list(metrics)
        self.selection = selection
        self.years = years or {}
        self.baseline = baseline
        self.where = {"dataset": dataset, "network": network, "split": split}

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of a study's scores; a method without any has no row.

        Raises:
            UserError: no scores fit, or more than one data set, network, split or recipe does.
        """
        methods = [*self.methods, *([self.baseline] if self.baseline else [])]
        views = [(self.selection, self.metrics)]
        if self.selection != "last_epoch":
            views.append(("last_epoch", self.metrics[:1]))
        picked = {
            rule: pick(scores, methods=methods, metrics=metrics, selection=rule, **self.where)
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
        columns = [self._column(rule, dim, metric, titles) for rule, dim, metric in keys]
        rows = [
            Row(
                self._label(method, titles),
                tuple(cells.get((rule, method, d, m), Cell(None)) for rule, d, m in keys),
                baseline=method == self.baseline,
            )
            for method in present(shown, methods)
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=self._caption(shown),
            row_header="Loss",
            columns=tuple(columns),
            rows=tuple(rows),
        )

    def _column(self, rule: str, dim: int, metric: str, titles: Mapping[str, str]) -> Column:
        last = rule != self.selection
        header = name(titles, metric)
        return Column(
            name=f"d{dim}_{metric}" + ("_last_epoch" if last else ""),
            header=f"{header}, last epoch" if last else header,
            group=f"{dim}-D",
        )

    def _label(self, method: str, titles: Mapping[str, str]) -> str:
        year = f" ({self.years[method]})" if method in self.years else ""
        return name(titles, method) + year

    def _caption(self, shown: pd.DataFrame) -> str:
        caption = f"Scores on the test classes in percent. {selected(self.selection)}"
        if self.selection != "last_epoch":
            caption += " The last-epoch column is free of that choice."
        if shown.seeds.max() > 1:
            fewest, most = shown.seeds.min(), shown.seeds.max()
            seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
            caption += f" Mean ± standard deviation over {seeds} seeds."
        return caption + " Best in bold, second best underlined."


def _cell(row) -> Cell:
    return Cell(row.mean, row.std if row.seeds > 1 else None)

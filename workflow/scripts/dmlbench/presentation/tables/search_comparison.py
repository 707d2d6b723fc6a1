"""Search strategies at one budget: what each finds, and what it costs."""

from functools import cached_property

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation._searches import best_trial, by_method, hours, strategy_title
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table, legend
from dmlbench.statistics.summary import select
from dmlbench.values import Printed, RankingMetric

SHOWS = "searches"


class SearchComparison(Kind):
    """What strategies find with one budget, next to the printed scores of psomas2020's table 16.

    Attributes:
        metric: of the validation and test scores: that of the searches.
        printed: the printed test scores of tuned methods.
    """

    metric: RankingMetric = "recall_at_1"
    printed: Printed

    @cached_property
    def _printed(self) -> dict[str, float]:
        return {
            row.method: row.number
            for row in self.printed.itertuples()
            if row.metric == self.metric and row.role == "test"
        }

    def __call__(self, searched) -> Table:
        records = [
            {"label": strategy_title(strategy), "panel": self.name(method)}
            | self._found(search, method, searched)
            for method, searches in by_method(self.searches, searched.trials).items()
            for strategy, search in searches.items()
        ]
        columns = self.shown(self.metric)
        rows = self.rows_of(columns, records)
        unit = in_percent(self.titles, [self.metric])
        caption = self.said(title=self.name(self.metric), unit=unit)
        marks = f"{legend(columns).removesuffix('.')}, for each loss."
        return self.table("Strategy", columns, rows, caption + marks)

    def _found(self, search: str, method: str, searched) -> dict[str, float | int | None]:
        trials = searched.trials[search]
        if self.searches[search]["metric"] != self.metric:
            raise UserError(
                f"search {search} maximizes {self.searches[search]['metric']}, not {self.metric}; "
                "allowed: searches for the metric of the table"
            )
        best, printed = best_trial(search, trials), self._printed.get(method)
        tuned = searched.scores[searched.scores.variant == f"tuned={search}"]
        test = self._score(tuned, "test")
        return {
            "trials": len(trials),
            "trained": int(trials["trained"].sum()),
            "pruned": int((trials["state"] == "pruned").sum()),
            "failed": int((trials["state"] == "failed").sum()),
            "hours": hours(trials),
            "validation": quantity(self.metric).factor * best["validation"],
            "validation_tuned": self._score(tuned, "validation"),
            "test": test,
            "test_printed": printed,
            "test_difference": None if test is None or printed is None else test - printed,
        }

    def _score(self, scores: pd.DataFrame, role: str) -> float | None:
        kept = select(scores, selection=self.selection, role=role, metrics=[self.metric])
        return None if kept.empty else float(kept["value"].iloc[0])

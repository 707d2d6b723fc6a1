"""Search strategies at one budget: what each finds, and what it costs."""

from functools import cached_property

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation._searches import best_trial, by_method, hours, strategy_title
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Table, TableRow, legend
from dmlbench.statistics.summary import select
from dmlbench.values import Printed, RankingMetric

NEEDS = "one_search_per_strategy"


def _columns(better: str) -> tuple[Column, ...]:
    return (
        Column("trials", "given", "Trials", decimals=0),
        Column("trained", "trained", "Trials", decimals=0),
        Column("pruned", "pruned", "Trials", decimals=0),
        Column("failed", "failed", "Trials", decimals=0),
        Column("hours", "Hours", decimals=2),
        Column("validation", "best trial", "Validation", better=better),
        Column("validation_tuned", "tuned", "Validation", better=better),
        Column("test", "tuned", "Test", better=better),
        Column("test_printed", "printed", "Test"),
        Column("test_difference", "diff.", "Test", signed=True),
    )


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
        rows = [
            TableRow(
                strategy_title(strategy),
                tuple(map(Cell, self._values(search, method, searched))),
                panel=self.name(method),
            )
            for method, searches in by_method(self.searches, searched.trials).items()
            for strategy, search in searches.items()
        ]
        metric = self.name(self.metric) + in_percent(self.titles, [self.metric])
        columns = _columns(quantity(self.metric).better)
        caption = (
            f"{metric}. Best trial: the highest validation score of the search. "
            "Tuned: the network trained in full with that trial's values; its epoch is the one "
            "with the best validation score. Equal values are trained once; hours are those of "
            f"all trials.{legend(columns).removesuffix('.')}, for each loss."
        )
        return self.table("Strategy", columns, rows, caption)

    def _values(self, search: str, method: str, searched) -> list[float | int | None]:
        trials = searched.trials[search]
        if self.searches[search]["metric"] != self.metric:
            raise UserError(
                f"search {search} maximizes {self.searches[search]['metric']}, not {self.metric}; "
                "allowed: searches for the metric of the table"
            )
        best, printed = best_trial(search, trials), self._printed.get(method)
        tuned = searched.scores[searched.scores.variant == f"tuned={search}"]
        test = self._score(tuned, "test")
        return [
            len(trials),
            int(trials["trained"].sum()),
            int((trials["state"] == "pruned").sum()),
            int((trials["state"] == "failed").sum()),
            hours(trials),
            quantity(self.metric).factor * best["validation"],
            self._score(tuned, "validation"),
            test,
            printed,
            None if test is None or printed is None else test - printed,
        ]

    def _score(self, scores: pd.DataFrame, role: str) -> float | None:
        kept = select(scores, selection=self.selection, role=role, metrics=[self.metric])
        return None if kept.empty else float(kept["value"].iloc[0])

"""Search strategies at one budget: what each finds, and what it costs."""

from functools import cached_property

import pandas as pd

from dmlbench.presentation._searches import best_trial, by_method, strategy_title
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Row, Table
from dmlbench.values import Metric, Printed

NEEDS = "one_search_per_strategy"

_COLUMNS = (
    Column("trials", "given", "Trials", decimals=0, better=""),
    Column("trained", "trained", "Trials", decimals=0, better=""),
    Column("pruned", "pruned", "Trials", decimals=0, better=""),
    Column("failed", "failed", "Trials", decimals=0, better=""),
    Column("hours", "Hours", decimals=2, better=""),
    Column("validation", "best trial", "Validation"),
    Column("validation_tuned", "tuned", "Validation"),
    Column("test", "tuned", "Test"),
    Column("test_printed", "printed", "Test", better=""),
    Column("test_difference", "diff.", "Test", better="", signed=True),
)


class SearchComparison(Kind):
    """What strategies find with one budget, next to the printed scores of psomas2020's table 16.

    Attributes:
        metric: of the validation and test scores; percent, the higher the better.
        printed: the printed test scores of tuned methods.
    """

    metric: Metric = "recall_at_1"
    printed: Printed

    @cached_property
    def _printed(self) -> dict[str, float]:
        return {
            row.method: row.number
            for row in self.printed.itertuples()
            if row.metric == self.metric and row.role == "test"
        }

    def __call__(self, found) -> Table:
        """The table of the searches' trials and of the tuned networks' scores.

        Args:
            found: the searches' `trials`, and the long table of `scores` with their tuned runs,
                as `presentation.views.Searched` holds them.
            titles: display names.

        Raises:
            UserError: a search without a complete trial, or two of a method by one strategy.
        """
        rows = [
            Row(
                strategy_title(strategy),
                tuple(map(Cell, self._values(search, method, found))),
                panel=self.name(method),
            )
            for method, searches in by_method(self.searches, found.trials).items()
            for strategy, search in searches.items()
        ]
        metric = self.name(self.metric)
        return Table(
            id=self.id,
            title=self.title,
            caption=(
                f"{metric} in percent. Best trial: the highest validation score of the search. "
                "Tuned: the network trained in full with that trial's values; its epoch is the one "
                "with the best validation score. Equal values are trained once; hours are those of "
                "all trials. Best in bold, second best underlined, for each loss."
            ),
            row_header="Strategy",
            columns=_COLUMNS,
            rows=tuple(rows),
        )

    def _values(self, search: str, method: str, found) -> list[float | int | None]:
        trials = found.trials[search]
        best, printed = best_trial(search, trials), self._printed.get(method)
        tuned = found.scores[found.scores.variant == f"tuned={search}"]
        test = self._score(tuned, "test")
        return [
            len(trials),
            int(trials["trained"].sum()),
            int((trials["state"] == "pruned").sum()),
            int((trials["state"] == "failed").sum()),
            trials["seconds"].sum() / 3600,
            100 * best["validation"],
            self._score(tuned, "validation"),
            test,
            printed,
            None if test is None or printed is None else test - printed,
        ]

    def _score(self, scores: pd.DataFrame, role: str) -> float | None:
        kept = scores[
            (scores.role == role)
            & (scores.selection == self.selection)
            & (scores.metric == self.metric)
        ]
        return None if kept.empty else 100 * float(kept["value"].iloc[0])

"""What each search found, value by value, and a summary of its trials."""

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._searches import best_values, hours
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Table, TableRow

NEEDS = "searches"

_COLUMNS = (
    Column("range", "Range"),
    Column("best", "Best value"),
    Column("validation", "best trial", "Validation"),
    Column("median", "median", "Validation"),
    Column("worst", "worst", "Validation"),
    Column("trials", "all", "Trials", decimals=0),
    Column("failed", "failed", "Trials", decimals=0),
    Column("hours", "Hours", decimals=2),
)


class SearchOutcomes(Kind):
    """One row per parameter of each search; the summary of its trials is in the first row."""

    def __call__(self, searched) -> Table:
        metrics = dict.fromkeys(described["metric"] for described in self.searches.values())
        rows = [
            row
            for search, described in self.searches.items()
            for row in self._rows(search, described, searched.trials[search])
        ]
        caption = (
            "The values of the best trial, with the validation scores of the complete trials"
            f"{in_percent(self.titles, metrics)}: with folds, means of theirs."
        )
        return self.table("Parameter", _COLUMNS, rows, caption)

    def _rows(self, search: str, described: dict, trials: pd.DataFrame) -> list[TableRow]:
        best = best_values(search, trials)
        scores = trials.loc[trials["state"] == "complete", "validation"]
        scores = quantity(described["metric"]).factor * scores
        failed = int((trials["state"] == "failed").sum())
        facts = [scores.max(), scores.median(), scores.min(), len(trials), failed, hours(trials)]
        rows = []
        for position, (place, parameter) in enumerate(described["parameters"].items()):
            cells = [_range(parameter), _text(best[place])]
            cells += facts if position == 0 else [None] * len(facts)
            rows.append(
                TableRow(
                    parameter["title"] or place, tuple(map(Cell, cells)), panel=described["title"]
                )
            )
        return rows


def _range(parameter: dict) -> str:
    if parameter["choices"] is not None:
        return ", ".join(map(_text, parameter["choices"]))
    ends = f"{_text(parameter['low'])} to {_text(parameter['high'])}"
    return f"{ends}, logarithmic" if parameter["log"] else ends


def _text(value: bool | float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

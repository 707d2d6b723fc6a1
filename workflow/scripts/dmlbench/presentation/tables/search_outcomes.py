"""What each search found, value by value, and a summary of its trials."""

import json

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._searches import best_trial
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Cell, Column, Row, Table

NEEDS = "searches"

_COLUMNS = (
    Column("range", "Range", better=""),
    Column("best", "Best value", better=""),
    Column("validation", "best trial", "Validation", better=""),
    Column("median", "median", "Validation", better=""),
    Column("worst", "worst", "Validation", better=""),
    Column("trials", "all", "Trials", decimals=0, better=""),
    Column("failed", "failed", "Trials", decimals=0, better=""),
    Column("hours", "Hours", decimals=2, better=""),
)


class SearchOutcomes(Kind):
    """One row per parameter of each search; the summary of its trials is in the first row."""

    def __call__(self, found) -> Table:
        """The table of the searches' trials.

        Args:
            found: the searches' `trials`, as `presentation.views.Searched` holds them.
            titles: display names.

        Raises:
            UserError: a search without a complete trial.
        """
        metrics = dict.fromkeys(described["metric"] for described in self.searches.values())
        rows = [
            row
            for search, described in self.searches.items()
            for row in self._rows(search, described, found.trials[search])
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=(
                "The values of the best trial, with the validation scores of the complete trials"
                f"{in_percent(self.titles, metrics)}: with folds, means of theirs."
            ),
            row_header="Parameter",
            columns=_COLUMNS,
            rows=tuple(rows),
        )

    def _rows(self, search: str, described: dict, trials: pd.DataFrame) -> list[Row]:
        best = json.loads(best_trial(search, trials)["values"])
        scores = trials.loc[trials["state"] == "complete", "validation"]
        scores = quantity(described["metric"]).factor * scores
        failed = int((trials["state"] == "failed").sum())
        facts = [scores.max(), scores.median(), scores.min(), len(trials), failed]
        facts.append(trials["seconds"].sum() / 3600)
        rows = []
        for position, (place, parameter) in enumerate(described["parameters"].items()):
            cells = [_range(parameter), _text(best[place])]
            cells += facts if position == 0 else [None] * len(facts)
            rows.append(
                Row(parameter["title"] or place, tuple(map(Cell, cells)), panel=described["title"])
            )
        return rows


def _range(parameter: dict) -> str:
    if parameter["choices"] is not None:
        return ", ".join(map(_text, parameter["choices"]))
    ends = f"{_text(parameter['low'])} to {_text(parameter['high'])}"
    return f"{ends}, logarithmic" if parameter["log"] else ends


def _text(value: bool | float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

"""What each search found, value by value, and a summary of its trials."""

from collections.abc import Iterator
from itertools import chain

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation._searches import best_values, hours
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table

SHOWS = "searches"


class SearchOutcomes(Kind):
    """One row per parameter of each search; the summary of its trials is in the first row."""

    def __call__(self, searched) -> Table:
        metrics = dict.fromkeys(described["metric"] for described in self.searches.values())
        records = chain.from_iterable(
            self._records(search, described, searched.trials[search])
            for search, described in self.searches.items()
        )
        columns, unit = self.shown(), in_percent(self.titles, metrics)
        return self.table(
            "Parameter", columns, self.rows_of(columns, records), self.said(unit=unit)
        )

    def _records(self, search: str, described: dict, trials: pd.DataFrame) -> Iterator[dict]:
        best = best_values(search, trials)
        scores = trials.loc[trials["state"] == "complete", "validation"]
        scores = quantity(described["metric"]).factor * scores
        of_trials = {
            "validation": scores.max(),
            "median": scores.median(),
            "worst": scores.min(),
            "trials": len(trials),
            "failed": int((trials["state"] == "failed").sum()),
            "hours": hours(trials),
        }
        for place, parameter in described["parameters"].items():
            found = {"range": _range(parameter), "best": _text(best[place])}
            names = {"label": parameter["title"] or place, "panel": described["title"]}
            yield names | found | of_trials
            of_trials = {}


def _range(parameter: dict) -> str:
    if parameter["choices"] is not None:
        return ", ".join(map(_text, parameter["choices"]))
    ends = f"{_text(parameter['low'])} to {_text(parameter['high'])}"
    return f"{ends}, logarithmic" if parameter["log"] else ends


def _text(value: bool | float | str) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

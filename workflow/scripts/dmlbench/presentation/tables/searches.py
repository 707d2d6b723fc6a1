"""What searches found, and what it cost."""

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from itertools import chain

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table, legend
from dmlbench.presentation.texts import in_percent
from dmlbench.statistics.summary import select
from dmlbench.values import Printed, RankingMetric

_NOT_PRINTED, _NO_STEP = "not printed", "none"
_STRATEGIES = {"coordinate": "one at a time", "tpe": "TPE", "random": "random"}


class SearchComparison(Kind):
    """What strategies find with one budget, next to the printed scores of psomas2020's table 16.

    Attributes:
        metric: of the validation and test scores: that of the searches.
        printed: the printed test scores of tuned methods.
    """

    SHOWS = "searches"
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
            {"label": _strategy_title(strategy), "panel": self.name(method)}
            | self._found(search, method, searched)
            for method, searches in _by_method(self.searches, searched.trials).items()
            for strategy, search in searches.items()
        ]
        columns = self.shown(self.metric)
        unit = in_percent(self.titles, [self.metric])
        caption = self.said(title=self.name(self.metric), unit=unit)
        marks = f"{legend(columns).removesuffix('.')}, for each loss."
        return self.listed("Strategy", columns, records, caption + marks)

    def _found(self, search: str, method: str, searched) -> dict[str, float | int | None]:
        trials = searched.trials[search]
        if self.searches[search]["metric"] != self.metric:
            raise UserError(
                f"search {search} maximizes {self.searches[search]['metric']}, not {self.metric}; "
                "allowed: searches for the metric of the table"
            )
        best, printed = _best_trial(search, trials), self._printed.get(method)
        tuned = searched.scores[searched.scores.variant == f"tuned={search}"]
        test = self._score(tuned, "test")
        return {
            "trials": len(trials),
            "trained": int(trials["trained"].sum()),
            "pruned": int((trials["state"] == "pruned").sum()),
            "failed": int((trials["state"] == "failed").sum()),
            "hours": _hours(trials),
            "validation": quantity(self.metric).factor * best["validation"],
            "validation_tuned": self._score(tuned, "validation"),
            "test": test,
            "test_printed": printed,
            "test_difference": None if test is None or printed is None else test - printed,
        }

    def _score(self, scores: pd.DataFrame, role: str) -> float | None:
        kept = select(scores, selection=self.selection, role=role, metrics=[self.metric])
        return None if kept.empty else float(kept["value"].iloc[0])


class SearchOptima(Kind):
    """Ranges, steps and best values of searched parameters, like psomas2020's table 15.

    Attributes:
        printed_settings: the printed optima: method, hyperparameter (the parameter's title) and
            optimal_value, as strings.
    """

    SHOWS = "searches"
    printed_settings: Printed

    def __call__(self, searched) -> Table:
        best = {search: _best_values(search, trials) for search, trials in searched.trials.items()}
        methods = _by_method(self.searches, searched.trials)
        strategies = list(dict.fromkeys(s for searches in methods.values() for s in searches))
        printed_optima = {
            (row.method, row.hyperparameter): row.optimal_value
            for row in self.printed_settings.itertuples()
        }
        records, notes = [], []
        for method, searches in methods.items():
            parameters = self.searches[next(iter(searches.values()))]["parameters"]
            for place, parameter in parameters.items():
                label = parameter["title"] or place
                printed = printed_optima.get((method, label))
                ours = {s: _number(best[search][place]) for s, search in searches.items()}
                found = {
                    "range": _grid(parameter),
                    "step": _number(parameter["step"]) or _NO_STEP,
                    "printed": _NOT_PRINTED if printed is None else _number(float(printed)),
                }
                records.append({"label": label, "panel": self.name(method)} | found | ours)
                if printed is not None and not _on_grid(printed, parameter):
                    range_ = "range and step" if parameter["step"] else "range"
                    notes.append(
                        f"{self.name(method)}'s printed {label}, {printed}, is not a value of "
                        f"its {range_}."
                    )
        columns = (
            *self.shown(),
            *(Column(s, _strategy_title(s), "Best value") for s in strategies),
            Column("printed", "printed", "Best value"),
        )
        judged = dict.fromkeys(self.searches[search]["metric"] for search in searched.trials)
        caption = self.said(metrics=" or ".join(map(self.name, judged)))
        return self.listed("Parameter", columns, records, caption, notes)


def _grid(parameter: dict) -> str:
    opening = "(" if parameter["open"] else "["
    return f"{opening}{_number(parameter['low'])}, {_number(parameter['high'])}]"


def _number(number: float | None) -> str | None:
    """A number without trailing zeros and without powers of ten."""
    return None if number is None else f"{Decimal(f'{number:.6g}').normalize():f}"


def _on_grid(printed: str, parameter: dict) -> bool:
    low, high = (Decimal(str(parameter[key])) for key in ("low", "high"))
    value = Decimal(printed)
    inside = low < value <= high if parameter["open"] else low <= value <= high
    return inside and not (parameter["step"] and (value - low) % Decimal(str(parameter["step"])))


class SearchOutcomes(Kind):
    """One row per parameter of each search; the summary of its trials is in the first row."""

    SHOWS = "searches"

    def __call__(self, searched) -> Table:
        metrics = dict.fromkeys(described["metric"] for described in self.searches.values())
        records = chain.from_iterable(
            self._records(search, described, searched.trials[search])
            for search, described in self.searches.items()
        )
        columns, unit = self.shown(), in_percent(self.titles, metrics)
        return self.listed("Parameter", columns, records, self.said(unit=unit))

    def _records(self, search: str, described: dict, trials: pd.DataFrame) -> Iterator[dict]:
        best = _best_values(search, trials)
        scores = trials.loc[trials["state"] == "complete", "validation"]
        scores = quantity(described["metric"]).factor * scores
        of_trials = {
            "validation": scores.max(),
            "median": scores.median(),
            "worst": scores.min(),
            "trials": len(trials),
            "failed": int((trials["state"] == "failed").sum()),
            "hours": _hours(trials),
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


def _strategy_title(strategy: str) -> str:
    """The name of a strategy in a table."""
    return _STRATEGIES.get(strategy, strategy.replace("_", " "))


def _by_method(searches: Mapping[str, dict], existing: Iterable[str]) -> dict[str, dict[str, str]]:
    """Method -> strategy -> search, for the searches that exist, in the order of `searches`.

    Raises:
        UserError: a method is searched twice by one strategy.
    """
    methods: dict[str, dict[str, str]] = {}
    for search in (search for search in searches if search in set(existing)):
        method, strategy = searches[search]["method"], searches[search]["strategy"]
        others = methods.setdefault(method, {})
        if strategy in others:
            raise UserError(
                f"searches {others[strategy]} and {search} both search {method} by {strategy}; "
                "allowed: one per table"
            )
        others[strategy] = search
    return methods


def _best_values(search: str, trials: pd.DataFrame) -> dict:
    """Parameter -> its value in the best trial; raises as `best_trial`."""
    return json.loads(_best_trial(search, trials)["values"])


def _hours(trials: pd.DataFrame) -> float:
    """What the trials of a search took together."""
    return trials["seconds"].sum() / 3600


def _best_trial(search: str, trials: pd.DataFrame) -> pd.Series:
    """The complete trial with the highest validation score; the first of equal ones.

    Raises:
        UserError: no trial is complete.
    """
    complete = trials[trials["state"] == "complete"].sort_values("number")
    if complete.empty:
        raise UserError(f"search {search}: no complete trial")
    return complete.loc[complete["validation"].idxmax()]

"""What searches found, parameter by parameter, next to the printed optima."""

from decimal import Decimal

from dmlbench.presentation._searches import best_values, by_method, strategy_title
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table
from dmlbench.values import Printed

SHOWS = "searches"

_NOT_PRINTED, _NO_STEP = "not printed", "none"


class SearchOptima(Kind):
    """Ranges, steps and best values of searched parameters, like psomas2020's table 15.

    Attributes:
        printed_settings: the printed optima: method, hyperparameter (the parameter's title) and
            optimal_value, as strings.
    """

    printed_settings: Printed

    def __call__(self, searched) -> Table:
        best = {search: best_values(search, trials) for search, trials in searched.trials.items()}
        methods = by_method(self.searches, searched.trials)
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
                    "range": _range(parameter),
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
            *(Column(s, strategy_title(s), "Best value") for s in strategies),
            Column("printed", "printed", "Best value"),
        )
        judged = dict.fromkeys(self.searches[search]["metric"] for search in searched.trials)
        caption = self.said(metrics=" or ".join(map(self.name, judged)))
        rows = self.rows_of(columns, records)
        return self.table("Parameter", columns, rows, caption, notes)


def _range(parameter: dict) -> str:
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

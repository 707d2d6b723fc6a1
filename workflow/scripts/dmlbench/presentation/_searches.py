"""Searches as tables show them."""

import json
from collections.abc import Iterable, Mapping

import pandas as pd

from dmlbench.errors import UserError

_STRATEGIES = {"coordinate": "one at a time", "tpe": "TPE", "random": "random"}


def strategy_title(strategy: str) -> str:
    """The name of a strategy in a table."""
    return _STRATEGIES.get(strategy, strategy.replace("_", " "))


def by_method(searches: Mapping[str, dict], existing: Iterable[str]) -> dict[str, dict[str, str]]:
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


def best_values(search: str, trials: pd.DataFrame) -> dict:
    """Parameter -> its value in the best trial; raises as `best_trial`."""
    return json.loads(best_trial(search, trials)["values"])


def hours(trials: pd.DataFrame) -> float:
    """What the trials of a search took together."""
    return trials["seconds"].sum() / 3600


def best_trial(search: str, trials: pd.DataFrame) -> pd.Series:
    """The complete trial with the highest validation score; the first of equal ones.

    Raises:
        UserError: no trial is complete.
    """
    complete = trials[trials["state"] == "complete"].sort_values("number")
    if complete.empty:
        raise UserError(f"search {search}: no complete trial")
    return complete.loc[complete["validation"].idxmax()]

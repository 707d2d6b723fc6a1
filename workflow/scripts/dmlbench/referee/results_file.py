"""A file of scores of several methods, read and checked."""

from pathlib import Path

import numpy as np
import pandas as pd

from dmlbench.errors import UserError, check_known
from dmlbench.evaluation.names import metric_names, quantity
from dmlbench.presentation.texts import name
from dmlbench.statistics.aggregation import DEFAULTS
from dmlbench.text_table import read_text_table

COLUMNS = ("method", "data", "split", "seed", "metric", "value")
_NEEDED = ("method", "metric", "value")


def read_results(path: Path, *, percent: bool | None = None) -> pd.DataFrame:
    """The scores of a file as a long table, fractions where a metric is a percentage.

    Raises:
        UserError: as `refereed`.
    """
    table = read_text_table(path)
    table = {_ALIASES.get(key.lower(), key.lower()): values for key, values in table.items()}
    check_known(str(path), "column that is needed", _NEEDED, table)
    frame = pd.DataFrame({key: table[key] for key in COLUMNS if key in table})
    frame = frame.assign(**{key: "" for key in COLUMNS if key not in frame})
    for key in _NEEDED:
        if (frame[key] == "").any():
            line = int((frame[key] == "").idxmax()) + 1
            raise UserError(f"{path}: row {line} has no {key}; allowed: one in each row")
    values = pd.to_numeric(frame["value"], errors="coerce")
    if not np.isfinite(values).all():
        wrong = frame["value"][~np.isfinite(values)].iloc[0]
        raise UserError(f"{path}: value {wrong!r}; allowed: numbers")
    frame["metric"] = frame["metric"].map(_metric)
    repeated = frame.duplicated([key for key in COLUMNS if key != "value"])
    if repeated.any():
        first = frame[repeated].iloc[0]
        place = ", ".join(f"{key} {first[key]}" for key in COLUMNS[:-1] if first[key])
        raise UserError(f"{path}: two values for {place}; allowed: one, so give each its seed")
    one_to_one = frame.groupby("split")["seed"].nunique().max() == 1
    if frame["split"].nunique() > 1 and one_to_one and (frame["split"] == frame["seed"]).all():
        raise UserError(
            f"{path}: each split is a seed; allowed: splits of the classes, as other seeds on the "
            "same classes say nothing about other classes (leave the column split out)"
        )
    seeds = {seed: number for number, seed in enumerate(frame["seed"].unique())}
    own = {
        "method": frame["method"],
        "dataset": frame["data"],
        "split": frame["split"],
        "seed": frame["seed"].map(seeds),
        "metric": frame["metric"],
        "value": _fractions(path, values, frame["metric"], percent),
    }
    return frame.assign(**(DEFAULTS | own))


_ALIASES = {"dataset": "data", "loss": "method", "score": "value"}


def _metric(given: str) -> str:
    """The id of a metric as a reader writes it: `R@1` is recall_at_1, `MAP@R` map_at_r."""
    named = {name({}, each).lower(): each for each in metric_names() if "<" not in each}
    plain = given.lower().replace("recall@", "r@").replace("precision@", "p@")
    for short, long in (("r@", "recall_at_"), ("p@", "precision_at_")):
        if plain.startswith(short) and plain[2:].isdecimal():
            return long + plain[2:]
    return named.get(plain, given)


def _fractions(
    path: Path, values: pd.Series, metrics: pd.Series, percent: bool | None
) -> pd.Series:
    is_percent = metrics.map(lambda metric: quantity(metric).percent)
    shares = values[is_percent]
    if percent is None:
        percent = bool((shares > 1).any())
        if percent and (shares <= 1).any():
            raise UserError(
                f"{path}: scores from {shares.min():g} to {shares.max():g}: fractions or percent? "
                "allowed: one of both; --percent or --fraction says which"
            )
    return values.where(~is_percent, values / 100) if percent else values

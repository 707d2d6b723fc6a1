"""The content of a run's files, any of which may be missing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dmlbench import provenance
from dmlbench.parquet import read_table
from dmlbench.plan import paths
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.records.ran_on import ran_on
from dmlbench.presentation._pictures import curve
from dmlbench.presentation._queries import extreme_queries
from dmlbench.presentation.run_lines import watched_score

_ENDS = 5
"""Number of worst and of best classes of a run that are shown."""


@dataclass
class Ending:
    """Where a run's curve is highest.

    Attributes:
        epoch: the epoch with the best watched score; None if none was watched.
        last: whether it is the last scored epoch, of at least two.
        scored: how many epochs were scored.
    """

    epoch: int | None = None
    last: bool = False
    scored: int = 0


@dataclass
class RunFacts:
    """What is known about one run except its scores; all of it may be missing."""

    settings: dict[str, str] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)
    curve: str = ""
    device: str = ""
    worst: list[dict] = field(default_factory=list)
    best: list[dict] = field(default_factory=list)
    classes: list[dict] = field(default_factory=list)
    class_count: int = 0


def look(results: Path, run: str, rule: str) -> RunFacts:
    """The content of the files of a run; queries under a selection rule."""
    facts = RunFacts()
    spec, history_file = (
        results / paths.made("train", output, run=run) for output in ("spec", "history")
    )
    queries = results / paths.made("evaluate", "queries", run=run)
    if spec.is_file():
        provenance.check(spec)
        facts.settings = _flat(read_mapping(spec))
    if history_file.is_file():
        history = read_table(history_file).to_pandas()
        facts.ending = _ending(history)
        facts.curve = curve(history, watched_score(history))
        facts.device = ran_on(history_file).get("device", "")
    if queries.is_file():
        _add_queries(facts, queries, rule)
    return facts


def ending_of(history: Path) -> Ending:
    """Where the watched score of a run's history is highest; empty without the file."""
    return _ending(read_table(history).to_pandas()) if history.is_file() else Ending()


def endings(all_endings: Sequence[Ending]) -> dict[str, int]:
    """How many runs were watched in several epochs, and how many of these end at their best."""
    watched = [ending for ending in all_endings if ending.scored > 1]
    return {"watched": len(watched), "last": sum(ending.last for ending in watched)}


def _ending(history: pd.DataFrame) -> Ending:
    column = watched_score(history)
    scored = history.dropna(subset=[column]) if column else history.iloc[:0]
    if scored.empty:
        return Ending()
    best = int(scored["epoch"][scored[column].idxmax()])
    several = len(scored) > 1
    return Ending(best, several and best == int(scored["epoch"].iloc[-1]), len(scored))


def _add_queries(facts: RunFacts, file: Path, rule: str) -> None:
    """The worst and best queries, and the classes with the lowest and the highest recall@1."""
    queries, worst, best = extreme_queries(file, rule)
    facts.worst, facts.best = (
        [{column: values[row].item() for column, values in queries.items()} for row in rows]
        for rows in (worst, best)
    )
    labels, ranks = queries["label"], queries["first_rank"]
    names, places, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=ranks == 1, minlength=len(names)) / np.maximum(sizes, 1)
    rising = np.argsort(means, kind="stable")
    if len(rising) > 2 * _ENDS:
        rising = np.concatenate([rising[:_ENDS], rising[-_ENDS:]])
    facts.classes = [
        {"label": int(names[i]), "mean": float(means[i]), "size": int(sizes[i])} for i in rising
    ]
    facts.class_count = len(names)


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested settings as `loss.margin: 0.1`; unset ones are left out."""
    if isinstance(value, Mapping):
        parts = [_flat(each, f"{prefix}.{key}") for key, each in value.items()]
        return {key: text for part in parts for key, text in part.items()}
    if value is None or value == []:
        return {}
    text = value if isinstance(value, str) else json.dumps(value)
    return {prefix.removeprefix("."): text}

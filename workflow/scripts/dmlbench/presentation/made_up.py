"""Tables and figures of made-up scores: what a kind refuses shows before a row is trained."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from dmlbench.plan.catalogs.rows import Combined
from dmlbench.presentation.view_files import Searched, build
from dmlbench.statistics.aggregation import COLUMNS, ROW, no_scores
from dmlbench.statistics.tournament import tournament


def render(
    kind: str,
    facts: Mapping[str, Any],
    metrics: Mapping[str, Sequence[str]],
    measures: Sequence[Mapping[str, Any]] = (),
    printed: Sequence[str | os.PathLike] = (),
) -> Any:
    """Make a view of made-up scores.

    Args:
        kind: `tournament`, `table` or `figure`.
        facts: as `dmlbench.plan.views.views.facts` gives them.
        metrics: data set -> the metrics of its runs.
        measures: `role`, `metrics` and `arrays` of each measure that it shows.
        printed: transcriptions of the printed tables that it shows next to ours.

    Returns:
        The frame of a tournament, the `Table` or the `Figure`.

    Raises:
        UserError: what the kind refuses.
    """
    scores = made_up_scores(facts["rows"], facts["selection"], metrics, measures)
    if kind == "tournament":
        ranked = {key: facts[key] for key in ("metric", "methods", "selection")}
        return tournament(scores, **ranked)
    arrays = made_up_arrays(facts["rows"], facts["selection"], measures)
    view = build(f"presentation/{kind}s", {**facts, "arrays": arrays}, printed)
    trials = {name: made_up_trials(search) for name, search in facts["searches"].items()}
    return view(Searched(trials, scores) if trials else scores)


def made_up_scores(
    rows: Iterable[Mapping[str, Any]],
    selection: str,
    metrics: Mapping[str, Sequence[str]],
    measures: Sequence[Mapping[str, Any]] = (),
) -> pd.DataFrame:
    """A long table with a number between 0.2 and 0.8 for each score that rows will have.

    Folds that are combined have the metrics of test images only.

    Args:
        rows, metrics, measures: as in `render`.
        selection: the view's rule; there are scores of the last epoch too.
    """
    named = pd.DataFrame(rows).drop_duplicates(ROW) if rows else no_scores()
    kinds = {
        (dataset, together): [
            (role, metric, rule)
            for role, metric in dict.fromkeys(_scored(metrics[dataset], measures, together))
            for rule in dict.fromkeys([selection, "last_epoch"])
        ]
        for dataset in metrics
        for together in (False, True)
    }
    keys = ["dataset", "together"]
    scored = pd.DataFrame(
        [(*key, *each) for key, listed in kinds.items() for each in listed],
        columns=[*keys, "role", "metric", "selection"],
    )
    named = named[[*ROW, "run"]].assign(together=named["fold"].isin(get_args(Combined)))
    values = np.random.default_rng(0)
    return (
        named.merge(scored, on=keys)
        .assign(value=lambda frame: values.uniform(0.2, 0.8, len(frame)))
        .loc[:, list(COLUMNS)]
    )


def made_up_arrays(
    rows: Iterable[Mapping[str, Any]], selection: str, measures: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, np.ndarray]]:
    """The file of each run's arrays -> four ones for each array of the measures."""
    names = [f"{selection}/{array}" for measure in measures for array in measure["arrays"]]
    if not names:
        return {}
    arrays = {name: np.ones(4) for name in names}
    return {f"results/runs/{row['run']}/measures/made_up.npz": arrays for row in rows}


def made_up_trials(search: Mapping[str, Any]) -> pd.DataFrame:
    """Two trials, at the ends of each parameter's range.

    Args:
        search: as `dmlbench.plan.specs.searches.shown` gives it.
    """
    ends = {
        place: parameter["choices"] or [parameter["low"], parameter["high"]]
        for place, parameter in search["parameters"].items()
    }
    values = [{place: of[end] for place, of in ends.items()} for end in (0, -1)]
    return pd.DataFrame(
        {
            "number": [0, 1],
            "state": "complete",
            "values": list(map(json.dumps, values)),
            "validation": [0.4, 0.5],
            "trained": True,
            "seconds": 3600.0,
        }
    )


def _scored(
    metrics: Sequence[str], measures: Sequence[Mapping[str, Any]], together: bool
) -> list[tuple[str, str]]:
    """Role and metric of each score of a row."""
    if together:
        return [("test", metric) for metric in metrics]
    own = [(role, metric) for role in ("validation", "test") for metric in metrics]
    return own + [
        (measure["role"], metric) for measure in measures for metric in measure["metrics"]
    ]

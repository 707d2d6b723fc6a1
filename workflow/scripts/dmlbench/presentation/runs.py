"""All runs of a study on one page: scores, curves, settings, queries, and their files."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dmlbench.parquet import read_table
from dmlbench.plan import paths
from dmlbench.plan.catalogs.rows import COORDINATES, OPTIONAL
from dmlbench.presentation._queries import NEIGHBORS, sheet_of
from dmlbench.presentation._templates import link, write_page
from dmlbench.presentation.run_facts import RunFacts, endings, look
from dmlbench.presentation.texts import SELECTIONS, name
from dmlbench.statistics.aggregation import read_scores
from dmlbench.statistics.summary import in_units

_METRICS = ("recall_at_1", "r_precision", "map_at_r")

_COLUMNS = {
    "method": "Loss",
    "dataset": "Data",
    "network": "Network",
    "embedding_dim": "Size",
    "seed": "Seed",
    "variant": "Variant",
    "fold": "Fold",
    "split": "Split",
    **{name: name.replace("_", " ").capitalize() for name in OPTIONAL},
    "miner.name": "Miner",
    "sampler.name": "Sampler",
    "recipe": "Recipe",
}
"""A coordinate, or a place in the spec -> header of its column.

Columns with equal values are left out.
"""

_AFTER = ("split", "miner.name", "sampler.name", "recipe")
"""Columns that come after scores and curve."""

_MOST_WITH_PICTURES = 1_000
"""The most runs of a page that shows the images nearest to their queries.

They are 10 of a run's 12 kB; larger pages link to the sheets of pictures instead.
"""

_FILES = {
    paths.made("train", "spec"): "spec",
    paths.made("train", "history"): "history",
    paths.made("evaluate", "scores"): "scores",
    paths.made("evaluate", "queries"): "queries",
    paths.made("train", "model"): "weights",
    paths.made("train", "last"): "last weights",
    paths.log("train"): "log",
}
"""Files of a run -> texts of their links."""


def write_runs(
    rows: Sequence[Mapping[str, Any]],
    output: str | os.PathLike,
    *,
    study: Mapping[str, Any],
    results: str | os.PathLike,
    images: Mapping[str, str | os.PathLike],
    neighbors: str | os.PathLike,
) -> None:
    """Write the page of a study's runs; it works without JavaScript.

    Pictures of the worst and best queries are in the folder `neighbors` next to the page; nothing
    else is needed. Missing histories, queries, pictures or specs are left out. With more than
    `_MOST_WITH_PICTURES` runs, pictures are linked to instead of shown.

    Args:
        rows: for each trained row its columns, its `run`, and its rule, `selection`.
        output: the HTML file to write.
        study: `id`, `title`, `titles`, `scores` (the long table) and `timings` (CSV or None), and
            `rehearsal`, as in `study.Study`.
        results: the folder of all results.
        images: data set -> the index of its images, for names of classes.
        neighbors: the folder written by `neighbors.write_neighbors`.
    """
    results = Path(results)
    rules = {row["run"]: row["selection"] for row in rows}
    facts_by_run = {run: look(results, run, rule) for run, rule in rules.items()}
    few = len(facts_by_run) <= _MOST_WITH_PICTURES
    pictures = _pictures(Path(neighbors), output) if few else {}
    common = _common([each.settings for each in facts_by_run.values()])
    scores, costs = _scores(study["scores"], rows), _costs(study["timings"])
    titles, named = study["titles"], _class_names(images)
    columns = _varying(rows, facts_by_run)
    shown = []
    for row in rows:
        run = row["run"]
        settings = facts_by_run[run].settings
        files = {results / file.format(run=run): text for file, text in _FILES.items()}
        files |= {} if few else {Path(neighbors, sheet_of(run)): "pictures of queries"}
        shown.append(
            {
                "values": {
                    column: _cell(row, facts_by_run[run], column, titles) for column in columns
                },
                "scores": {metric: scores.get((*_key(row), metric)) for metric in _METRICS},
                "last": scores.get((*_key(row), "last")),
                "cost": costs.get(run),
                "changed": {
                    key: value for key, value in settings.items() if common.get(key) != value
                },
                "missing": [key for key in common if settings and key not in settings],
                "links": [(text, file) for file, text in files.items() if file.is_file()],
                "found": facts_by_run[run],
                "pictures": pictures.get(run, []),
                "names": named.get(row["dataset"], {}),
                "run": run,
            }
        )
    metrics = [m for m in _METRICS if any(row["scores"][m] is not None for row in shown)]
    write_page(
        "runs.html",
        output,
        study=study,
        rows=shown,
        trainings=len(facts_by_run),
        before={column: _COLUMNS[column] for column in columns if column not in _AFTER},
        after={column: _COLUMNS[column] for column in columns if column in _AFTER},
        metrics={metric: name(titles, metric) for metric in metrics},
        last=any(row["selection"] != "last_epoch" for row in rows),
        rules=[SELECTIONS[rule] for rule in dict.fromkeys(row["selection"] for row in rows)],
        common=common,
        endings=endings([each.ending for each in facts_by_run.values()]),
        cost=_cost_by_method(rows, costs, facts_by_run, titles),
        report=link(results / paths.made("report"), output),
        rehearsal=study["rehearsal"],
    )


def _common(settings: Sequence[dict[str, str]]) -> dict[str, str]:
    """The settings that more than half of the runs share."""
    known = [each for each in settings if each]
    counts = Counter(item for each in known for item in each.items())
    return {key: value for (key, value), count in counts.items() if 2 * count > len(known)}


def _key(row: Mapping[str, Any]) -> tuple:
    return tuple(row[column] for column in ("run", *COORDINATES))


def _scores(file: str | os.PathLike, rows: Sequence[Mapping[str, Any]]) -> dict[tuple, float]:
    """(row, metric) -> score of the test images under the row's rule; `last`: of the last epoch.

    That of the last epoch is of the first metric.
    """
    scores = read_scores(file)
    scores = in_units(scores[(scores["role"] == "test") & scores["metric"].isin(_METRICS)])
    rules, first, by_row = {_key(row): row["selection"] for row in rows}, _METRICS[0], {}
    for score in scores.to_dict("records"):
        key = _key(score)
        if score["selection"] == rules.get(key):
            by_row[*key, score["metric"]] = score["value"]
        if score["selection"] == "last_epoch" and score["metric"] == first:
            by_row[*key, "last"] = score["value"]
    return by_row


def _costs(file: str | os.PathLike | None) -> dict[str, float]:
    if file is None:
        return {}
    spent = pd.read_csv(file).dropna(subset=["seconds"])
    return spent.groupby("run")["seconds"].sum().to_dict()


def _cost_by_method(rows, costs: Mapping[str, float], facts_by_run, titles) -> list[dict]:
    """Seconds of each loss's runs, each run counted once, by training device."""
    spent: dict[str, list[str]] = {}
    for run, method in {row["run"]: row["method"] for row in rows}.items():
        if run in costs:
            spent.setdefault(method, []).append(run)
    return [
        {
            "title": name(titles, method),
            "runs": len(runs),
            "seconds": sum(map(costs.get, runs)),
            "gpu": sum(costs[run] for run in runs if facts_by_run[run].device not in ("", "cpu")),
        }
        for method, runs in spent.items()
    ]


def _varying(rows: Sequence[Mapping[str, Any]], facts_by_run: Mapping[str, RunFacts]) -> list[str]:
    """The columns in which runs differ, and the loss."""
    values = {
        column: {_raw(row, facts_by_run[row["run"]], column) for row in rows} for column in _COLUMNS
    }
    return [column for column in _COLUMNS if column == "method" or len(values[column]) > 1]


def _raw(row: Mapping[str, Any], facts: RunFacts, column: str) -> str:
    return str(row[column]) if column in COORDINATES else facts.settings.get(column, "")


def _cell(row: Mapping[str, Any], facts: RunFacts, column: str, titles: Mapping[str, str]) -> str:
    value = _raw(row, facts, column)
    if column in ("method", "dataset", "network", "recipe", "variant"):
        return ", ".join(titles.get(part, part) for part in [value] if part)
    return value.replace("_", " ")


def _pictures(neighbors: Path, page: str | os.PathLike) -> dict[str, list[list[dict]]]:
    """Run -> for each query on its sheet, worst and best, the images, the query first."""
    if not (neighbors / NEIGHBORS).is_file():
        return {}
    by_run: dict[str, dict[int, list[dict]]] = {}
    for image in read_table(neighbors / NEIGHBORS).to_pylist():
        image["sheet"] = link(neighbors / image["sheet"], page)
        by_run.setdefault(image["run"], {}).setdefault(image["query"], []).append(image)
    return {run: list(by_query.values()) for run, by_query in by_run.items()}


def _class_names(images: Mapping[str, str | os.PathLike]) -> dict[str, dict[int, str]]:
    """Data set -> label -> name, for data sets with an index."""
    by_dataset = {}
    for dataset, index in images.items():
        if Path(index).is_file():
            table = read_table(Path(index), columns=["label", "class_name"]).to_pandas()
            named = table.drop_duplicates("label")
            by_dataset[dataset] = dict(zip(named["label"], named["class_name"], strict=True))
    return by_dataset

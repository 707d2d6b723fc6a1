"""All runs of a study on one page: scores, curves, settings, worst queries, and their files."""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dmlbench.files import atomic_write
from dmlbench.machine import PROVENANCE
from dmlbench.parquet import read_metadata, read_table
from dmlbench.plan.read import read_mapping
from dmlbench.presentation._curve import curve
from dmlbench.presentation._queries import NEIGHBORS, worst_queries
from dmlbench.presentation._templates import environment
from dmlbench.presentation.names import REHEARSAL, SELECTIONS, name
from dmlbench.statistics.aggregation import read_scores

_METRICS = ("recall_at_1", "r_precision", "map_at_r")
_ENDS = 5
"""Classes of a run that are shown from below and from above."""

_COLUMNS = {
    "method": "Loss",
    "dataset": "Data",
    "network": "Network",
    "embedding_dim": "Size",
    "seed": "Seed",
    "variant": "Variant",
    "fold": "Fold",
    "split": "Split",
    "miner": "Miner",
    "sampler": "Sampler",
    "recipe": "Recipe",
}
"""What tells runs apart -> head of its column; what all have alike has no column."""

_AFTER = ("split", "miner", "sampler", "recipe")
"""Columns that come after scores and curve."""

_FILES = {
    "spec.yaml": "spec",
    "history.parquet": "history",
    "scores.parquet": "scores",
    "queries.parquet": "queries",
    "model.safetensors": "weights",
    "last.safetensors": "last weights",
}


@dataclass
class Ending:
    """Where the curve of a run is highest.

    Attributes:
        epoch: the epoch with the best watched score; None where none was watched.
        last: whether it is the last one that was scored, of at least two.
        scored: how many epochs were scored.
    """

    epoch: int | None = None
    last: bool = False
    scored: int = 0


@dataclass
class Found:
    """What is known of one run but for its scores: all of it may be missing."""

    settings: dict[str, str] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)
    curve: str = ""
    device: str = ""
    worst: list[dict] = field(default_factory=list)
    classes: list[dict] = field(default_factory=list)
    class_count: int = 0


def write_runs(
    rows: Sequence[Mapping[str, Any]],
    output: str | os.PathLike,
    *,
    study: Mapping[str, Any],
    results: str | os.PathLike,
    images: Mapping[str, str | os.PathLike],
    neighbors: str | os.PathLike,
) -> None:
    """Write the page of a study's runs; it works without its script.

    Pictures of the worst queries are in the folder `neighbors`, which stays next to the page;
    nothing else is needed. Of a run whose history, queries, pictures or spec are not there, what
    they hold is left out.

    Args:
        rows: the columns of each trained row, `run`, and `selection`, its rule.
        output: the HTML file to write.
        study: `id`, `title`, `titles`, `scores` (the long table) and `timings` (CSV or None), and
            `rehearsal`, as in `study.Study`.
        results: the folder of all results.
        images: data set -> the index of its images, for names of classes.
        neighbors: the folder that `neighbors.write_neighbors` has written.
    """
    results, folder = Path(results), Path(output).parent
    pictures = _pictures(Path(neighbors), folder)
    found = {run: _look(results / "runs" / run, rule) for run, rule in _rules(rows).items()}
    common = _common([each.settings for each in found.values()])
    scores, costs = _scores(study["scores"], rows), _costs(study["timings"])
    titles, named = study["titles"], _class_names(images)
    columns = _varying(rows, found)
    shown = []
    for row in rows:
        each, run = found[row["run"]], row["run"]
        values = {column: _cell(row, each, column, titles) for column in columns}
        shown.append(
            {
                "values": values,
                "scores": {metric: scores.get((*_key(row), metric)) for metric in _METRICS},
                "last": scores.get((*_key(row), "last")),
                "cost": costs.get(run),
                "changed": {
                    key: value for key, value in each.settings.items() if common.get(key) != value
                },
                "missing": [key for key in common if each.settings and key not in each.settings],
                "links": _links(run, results, folder),
                "found": each,
                "pictures": pictures.get(run, []),
                "names": named.get(row["dataset"], {}),
                "run": run,
            }
        )
    metrics = [m for m in _METRICS if any(row["scores"][m] is not None for row in shown)]
    page = (
        environment()
        .get_template("runs.html")
        .render(
            study=study,
            rows=shown,
            trainings=len(found),
            before={column: _COLUMNS[column] for column in columns if column not in _AFTER},
            after={column: _COLUMNS[column] for column in columns if column in _AFTER},
            metrics={metric: name(titles, metric) for metric in metrics},
            last=any(row["selection"] != "last_epoch" for row in rows),
            rules=[SELECTIONS[rule] for rule in dict.fromkeys(row["selection"] for row in rows)],
            common=common,
            endings=endings([each.ending for each in found.values()]),
            cost=_cost_by_method(rows, costs, found, titles),
            report=Path(os.path.relpath(results / "report.html", folder)).as_posix(),
            rehearsal=REHEARSAL if study.get("rehearsal") else "",
        )
    )
    with atomic_write(output) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def ending_of(run: Path, metric: str = "") -> Ending:
    """Where the watched score of a run in a folder is highest; nothing where there is no history.

    Args:
        metric: the watched one; the first in the history if not said.
    """
    file = run / "history.parquet"
    return _ending(_history(file), metric) if file.is_file() else Ending()


def endings(found: Sequence[Ending]) -> dict[str, int]:
    """How many runs were watched in several epochs, and how many of them end at their best."""
    watched = [ending for ending in found if ending.scored > 1]
    return {"watched": len(watched), "last": sum(ending.last for ending in watched)}


def _rules(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {row["run"]: row["selection"] for row in rows}


def _look(run: Path, rule: str) -> Found:
    found = Found()
    spec = {}
    if (run / "spec.yaml").is_file():
        spec = read_mapping(run / "spec.yaml")
        found.settings = _flat(spec)
    if (run / "history.parquet").is_file():
        history = _history(run / "history.parquet")
        watched = spec.get("selection_metric", "")
        found.ending = _ending(history, watched)
        found.curve = curve(history, _watched(history, watched))
        known = read_metadata(run / "history.parquet").get(PROVENANCE)
        found.device = json.loads(known)["device"] if known else ""
    if (run / "queries.parquet").is_file():
        _add_queries(found, run / "queries.parquet", rule)
    return found


def _history(file: Path) -> pd.DataFrame:
    return read_table(file).to_pandas()


def _watched(history: pd.DataFrame, metric: str) -> str | None:
    """The column of the watched score."""
    if metric in history:
        return metric
    others = [name for name in history if name not in _NO_SCORES]
    return others[0] if others else None


_NO_SCORES = {"epoch", "learning_rate", "loss", "zero_losses"}


def _ending(history: pd.DataFrame, metric: str) -> Ending:
    column = _watched(history, metric)
    scored = history.dropna(subset=[column]) if column else history.iloc[:0]
    if scored.empty:
        return Ending()
    best = int(scored["epoch"][scored[column].idxmax()])
    several = len(scored) > 1
    return Ending(best, several and best == int(scored["epoch"].iloc[-1]), len(scored))


def _add_queries(found: Found, file: Path, rule: str) -> None:
    """The worst queries, and the classes with the lowest and the highest recall@1."""
    queries, worst = worst_queries(file, rule)
    found.worst = queries.iloc[worst].to_dict("records")
    labels, ranks = queries["label"].to_numpy(), queries["first_rank"].to_numpy()
    names, places, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=ranks == 1, minlength=len(names)) / np.maximum(sizes, 1)
    rising = np.argsort(means, kind="stable")
    if len(rising) > 2 * _ENDS:
        rising = np.concatenate([rising[:_ENDS], rising[-_ENDS:]])
    found.classes = [
        {"label": int(names[i]), "mean": float(means[i]), "size": int(sizes[i])} for i in rising
    ]
    found.class_count = len(names)


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested settings as `loss.margin: 0.1`; what is not set is left out."""
    if isinstance(value, Mapping):
        parts = [
            _flat(each, f"{prefix}.{key}" if prefix else str(key)) for key, each in value.items()
        ]
        return {key: text for part in parts for key, text in part.items()}
    if value is None or value == []:
        return {}
    text = value if isinstance(value, str) else json.dumps(value)
    return {prefix: text}


def _common(settings: Sequence[dict[str, str]]) -> dict[str, str]:
    """The settings that more than half of the runs share."""
    known = [each for each in settings if each]
    counts = Counter(item for each in known for item in each.items())
    return {key: value for (key, value), count in counts.items() if 2 * count > len(known)}


def _key(row: Mapping[str, Any]) -> tuple:
    return tuple(row[column] for column in _ROW)


_ROW = ("run", "method", "recipe", "variant", "dataset", "network", "embedding_dim", "split")
_ROW += ("fold", "seed")


def _scores(file: str | os.PathLike, rows: Sequence[Mapping[str, Any]]) -> dict[tuple, float]:
    """(row, metric) -> percent of the test images under the row's rule; `last`: of the last epoch.

    The last epoch's is that of the first metric.
    """
    scores = read_scores(file)
    scores = scores[(scores["role"] == "test") & scores["metric"].isin(_METRICS)]
    rules, first, found = {_key(row): row["selection"] for row in rows}, _METRICS[0], {}
    for score in scores.to_dict("records"):
        key = _key(score)
        if score["selection"] == rules.get(key):
            found[*key, score["metric"]] = 100 * score["value"]
        if score["selection"] == "last_epoch" and score["metric"] == first:
            found[*key, "last"] = 100 * score["value"]
    return found


def _costs(file: str | os.PathLike | None) -> dict[str, float]:
    if file is None:
        return {}
    spent = pd.read_csv(file).dropna(subset=["seconds"])
    return spent.groupby("run")["seconds"].sum().to_dict()


def _cost_by_method(rows, costs: Mapping[str, float], found, titles) -> list[dict]:
    """Seconds of each loss's runs, each run once, by the device that trained them."""
    spent: dict[str, dict] = {}
    for run, method in {row["run"]: row["method"] for row in rows}.items():
        if run in costs:
            line = spent.setdefault(method, {"runs": 0, "seconds": 0.0, "gpu": 0.0})
            line["runs"] += 1
            line["seconds"] += costs[run]
            on_gpu = found[run].device not in ("", "cpu")
            line["gpu"] += costs[run] if on_gpu else 0
    return [{"title": name(titles, method), **line} for method, line in spent.items()]


def _varying(rows: Sequence[Mapping[str, Any]], found: Mapping[str, Found]) -> list[str]:
    """The columns in which runs differ; the loss always."""
    values = {column: {_raw(row, found[row["run"]], column) for row in rows} for column in _COLUMNS}
    return [column for column in _COLUMNS if column == "method" or len(values[column]) > 1]


def _raw(row: Mapping[str, Any], found: Found, column: str) -> str:
    if column in ("miner", "sampler"):
        return found.settings.get(f"{column}.name", "")
    return str(row[column])


def _cell(row: Mapping[str, Any], found: Found, column: str, titles: Mapping[str, str]) -> str:
    value = _raw(row, found, column)
    if column in ("method", "dataset", "network", "recipe", "variant"):
        return ", ".join(titles.get(part, part) for part in [value] if part)
    return value.replace("_", " ")


def _links(run: str, results: Path, folder: Path) -> list[tuple[str, str]]:
    files = [(results / "runs" / run / file, text) for file, text in _FILES.items()]
    files.append((results / "logs" / "train" / f"{run}.log", "log"))
    return [
        (text, Path(os.path.relpath(file, folder)).as_posix())
        for file, text in files
        if file.is_file()
    ]


def _pictures(neighbors: Path, folder: Path) -> dict[str, list[list[dict]]]:
    """Run -> for each of its worst queries the images on its sheet, the query first."""
    if not (neighbors / NEIGHBORS).is_file():
        return {}
    shown = read_table(neighbors / NEIGHBORS).to_pandas()
    where = Path(os.path.relpath(neighbors, folder)).as_posix()
    shown["sheet"] = where + "/" + shown["sheet"]
    return {
        run: [images.to_dict("records") for _, images in found.groupby("query")]
        for run, found in shown.groupby("run")
    }


def _class_names(images: Mapping[str, str | os.PathLike]) -> dict[str, dict[int, str]]:
    """Data set -> label -> name, as far as its index is there."""
    found = {}
    for dataset, index in images.items():
        if Path(index).is_file():
            table = read_table(Path(index), columns=["label", "class_name"]).to_pandas()
            named = table.drop_duplicates("label")
            found[dataset] = dict(zip(named["label"], named["class_name"], strict=True))
    return found

"""The scores of each test class, from those of single queries."""

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dmlbench.errors import UserError
from dmlbench.parquet import read_table, write_table
from dmlbench.plan import paths
from dmlbench.plan.catalogs.rows import COORDINATES, NUMBERS
from dmlbench.statistics.aggregation import row_of

FILE = Path(paths.made("aggregate", "classes", study="")).name
"""Its file, next to the long table of a study."""

_RUNS = Path(paths.made("aggregate", "runs", study="")).name

METRICS = ("recall_at_1", "map_at_r")

SCHEMA = pa.schema(
    [
        *((name, pa.int64() if name in NUMBERS else pa.string()) for name in COORDINATES),
        ("selection", pa.string()),
        ("label", pa.int64()),
        ("queries", pa.int64()),
        *((metric, pa.float64()) for metric in METRICS),
    ]
)
"""One row per run, selection rule and test class: its number of queries and their mean scores, as
fractions."""


def of_queries(queries: pd.DataFrame) -> pd.DataFrame:
    """The mean scores of each test class of a run.

    Args:
        queries: as `evaluation.run_scores.write_scores` writes them.

    Returns:
        selection, label, queries, and `METRICS`.
    """
    test = queries[queries["role"] == "test"]
    test = test.assign(recall_at_1=(test["first_rank"] == 1).astype(float))
    grouped = test.groupby(["selection", "label"], sort=True)
    return grouped[list(METRICS)].mean().assign(queries=grouped.size()).reset_index()


def of_runs(
    rows: Sequence[Mapping[str, Any]], queries: Sequence[str | os.PathLike]
) -> pd.DataFrame:
    """The scores of each test class of several runs, in the columns of `SCHEMA`.

    Args:
        rows: the columns of each row, and `run`, the folder of its run.
        queries: for each row the Parquet file of its run's queries, or the scores of classes of a
            published study that has the run.

    Raises:
        UserError: a published study without the run; runs of another encoding whose test classes
            have other images than those of this one.
    """
    parts = [SCHEMA.empty_table().to_pandas()]
    images = {}
    for row, file in zip(rows, map(Path, queries), strict=True):
        if file.name == FILE:
            own = _published(row, file)
        else:
            columns = ["label", "role", "selection", "first_rank", "map_at_r"]
            own = of_queries(read_table(file, columns=columns).to_pandas())
        if images.setdefault((row["dataset"], row["split"]), _images(own)) != _images(own):
            raise UserError(
                f"{file}: {row['run']} tests other classes, or other numbers of images of them, "
                f"than the study's other runs on {row['dataset']}, {row['split']}; allowed: "
                "published runs of the same images, classes and split"
            )
        parts.append(own.assign(**row_of(row)._asdict()))
    return pd.concat(parts, ignore_index=True).astype({"fold": str})[SCHEMA.names]


def _images(classes: pd.DataFrame) -> dict[int, int]:
    """Test class -> its number of queries."""
    return dict(zip(classes["label"], classes["queries"], strict=True))


def _published(row: Mapping[str, Any], path: Path) -> pd.DataFrame:
    """The classes of a row's run among those of a published study, which may name it otherwise."""
    with path.with_name(_RUNS).open(newline="", encoding="utf-8") as file:
        named = (each for each in csv.DictReader(file) if each["run"] == row["run"])
        name = next(named, None)
    kept = [(key, "==", int(name[key]) if key in NUMBERS else name[key]) for key in COORDINATES]
    return read_table(path, filters=kept).to_pandas()


def of_splits(
    rows: Sequence[Mapping[str, Any]], queries: Sequence[str | os.PathLike]
) -> pd.DataFrame | None:
    """What `of_runs` gives, `by_metric`; None without queries or several splits of a data set."""
    splits = {(row["dataset"], row["split"]) for row in rows}
    if not queries or len(splits) == len({row["dataset"] for row in rows}):
        return None
    return by_metric(of_runs(rows, queries))


def write_classes(
    rows: Sequence[Mapping[str, Any]],
    queries: Sequence[str | os.PathLike],
    output: str | os.PathLike,
) -> None:
    """Write what `of_runs` gives as Parquet."""
    table = pa.Table.from_pandas(of_runs(rows, queries), schema=SCHEMA, preserve_index=False)
    write_table(table.replace_schema_metadata(None), output)


def read_classes(path: str | os.PathLike) -> pd.DataFrame:
    """Read what `write_classes` writes, as `by_metric` gives it.

    Raises:
        UserError: the columns are others.
    """
    table = read_table(path)
    if table.schema.names != SCHEMA.names:
        raise UserError(f"{path}: columns {table.schema.names}; allowed: {SCHEMA.names}")
    return by_metric(table.to_pandas())


def by_metric(classes: pd.DataFrame) -> pd.DataFrame:
    """The scores of each test class, one row per metric.

    Args:
        classes: as `of_runs` gives them.

    Returns:
        The coordinates of rows, selection, label, metric, and `value`: what the class adds to the
        metric of its run, times the number of test classes. So the mean over the classes of a run
        is the score of the run, in which a class counts as often as it has queries.
    """
    run = [*COORDINATES, "selection"]
    share = classes["queries"] / classes.groupby(run)["queries"].transform("mean")
    named = classes.melt([*run, "label"], list(METRICS), var_name="metric")
    return named.assign(value=named["value"] * np.tile(share, len(METRICS)))

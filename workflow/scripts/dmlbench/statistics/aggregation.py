"""One long table of scores per study, and one of what its runs cost."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dmlbench.errors import UserError
from dmlbench.files import whole
from dmlbench.parquet import read_table

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("dataset", pa.string()),
        ("network", pa.string()),
        ("embedding_dim", pa.int64()),
        ("method", pa.string()),
        ("recipe", pa.string()),
        ("split", pa.string()),
        ("seed", pa.int64()),
        ("role", pa.string()),
        ("selection", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)
COLUMNS = tuple(SCHEMA.names)
ROLES = ("test", "validation")
SAME_SCORE = 12
"""Decimals of a fraction up to which two scores are the same (a mean over seeds adds noise)."""
SELECTIONS = ("best_test_epoch", "best_validation_epoch", "last_epoch")

_SORTED_BY = ["dataset", "network", "embedding_dim", "method", "recipe", "split", "seed"]
_SORTED_BY += ["run", "role", "selection", "metric"]


def collect(score_files: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """The scores of several runs in one sorted table.

    Args:
        score_files: Parquet files with the columns of `SCHEMA`; `value` is a fraction.

    Raises:
        UserError: no files; a file whose columns or types differ, or that names an unknown
            selection rule or role; two scores for one run, role, selection and metric.
    """
    if not score_files:
        raise UserError("no score files to aggregate; a study needs at least one run")
    scores = pa.concat_tables([_read(Path(file)) for file in score_files]).to_pandas()
    repeated = scores[scores.duplicated(["run", "role", "selection", "metric"])]
    if len(repeated):
        first = repeated.iloc[0]
        raise UserError(
            f"run {first.run} has two scores for {first.metric} on {first.role} images at "
            f"{first.selection}; allowed: one"
        )
    return scores.sort_values(_SORTED_BY, kind="stable", ignore_index=True)


def aggregate(score_files: Sequence[str | os.PathLike], output: str | os.PathLike) -> None:
    """Write the scores of several runs to one sorted Parquet file; raises as `collect`."""
    with whole(output) as unfinished:
        table = pa.Table.from_pandas(collect(score_files), schema=SCHEMA, preserve_index=False)
        pq.write_table(table.replace_schema_metadata(None), unfinished)


def read_scores(path: str | os.PathLike) -> pd.DataFrame:
    """Read a table of scores, its columns and types checked.

    Raises:
        UserError: the columns or types are not those of `SCHEMA`.
    """
    return _read(Path(path)).to_pandas()


def timings(
    benchmark_files: Mapping[str, Mapping[str, str | os.PathLike]], output: str | os.PathLike
) -> None:
    """Write what each stage of each run cost, as CSV with run, stage, seconds, max_rss_mb.

    Args:
        benchmark_files: run -> stage -> Snakemake's benchmark file (TSV with columns `s` and
            `max_rss`). Of a repeated benchmark, seconds are the mean and memory is the maximum.
            Seconds are wall-clock, memory is the resident set in MB.
        output: the CSV file to write. A missing file, and a memory that Snakemake could not
            measure because the job was too short, leave empty cells.
    """
    rows = [
        {"run": run, "stage": stage, **_cost(Path(path))}
        for run, stages in benchmark_files.items()
        for stage, path in stages.items()
    ]
    with whole(output) as unfinished:
        frame = pd.DataFrame(rows, columns=["run", "stage", "seconds", "max_rss_mb"])
        frame.to_csv(unfinished, index=False, lineterminator="\n")


def _read(path: Path) -> pa.Table:
    table = read_table(path)
    if sorted(table.column_names) != sorted(COLUMNS):
        missing = sorted(set(COLUMNS) - set(table.column_names))
        extra = sorted(set(table.column_names) - set(COLUMNS))
        raise UserError(
            f"{path}: wrong columns (missing: {', '.join(missing) or 'none'}; "
            f"not allowed: {', '.join(extra) or 'none'}); allowed: {', '.join(COLUMNS)}"
        )
    try:
        table = table.select(COLUMNS).cast(SCHEMA)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: a column has the wrong type ({reason})") from error
    for column, allowed in (("selection", SELECTIONS), ("role", ROLES)):
        for value in table[column].unique().to_pylist():
            if value not in allowed:
                raise UserError(f"{path}: {column} {value!r}; allowed: {', '.join(allowed)}")
    return table


def _cost(path: Path) -> dict[str, float | None]:
    if not path.exists():
        return {"seconds": None, "max_rss_mb": None}
    benchmark = pd.read_csv(path, sep="\t", na_values=["-", "NA"])
    return {
        "seconds": round(float(benchmark["s"].mean()), 2),
        "max_rss_mb": benchmark["max_rss"].astype(float).max(),
    }

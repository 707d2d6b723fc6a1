"""One long table of scores per study."""

import os
import re
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dmlbench.errors import UserError
from dmlbench.files import write_csv
from dmlbench.parquet import read_table, write_table
from dmlbench.plan import paths
from dmlbench.plan.catalogs.rows import COORDINATES, NOTHING, NUMBERS, OPTIONAL

SCORES = pa.schema(
    [
        ("role", pa.string()),
        ("selection", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)
"""The columns of one run's file of scores; `value` is a fraction."""

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        *((name, pa.int64() if name in NUMBERS else pa.string()) for name in COORDINATES),
        *SCORES,
    ]
)
"""The long table: a study's name of a run, the run's folder, and one of its scores."""

FILE = Path(paths.made("aggregate", "scores", study="")).name
"""The file of a study's long table."""

COLUMNS = tuple(SCHEMA.names)
ROLES = ("train", "validation", "test")
SAME_SCORE = 12
"""Decimals of a fraction up to which two scores are the same (a mean over seeds adds noise)."""
SELECTIONS = (
    "best_test_epoch",
    "own_best_test_epoch",
    "best_validation_epoch",
    "last_epoch",
    "none",
)
"""Rules by which an epoch was selected; `none` if nothing was trained in epochs."""


class Coordinates(namedtuple("Coordinates", COORDINATES)):
    """A study's name of a run; a run can have several rows.

    Attributes:
        variant: a named change of the method's usual spec; empty for none.
        fold: empty if the split has no folds; `concatenated` or `separated` if the folds are scored
            together.
    """

    def __str__(self) -> str:
        return "/".join(str(value) for value in self if value != "")


ROW = list(COORDINATES)
_SORTED_BY = [*ROW, "run", "role", "selection", "metric"]
DEFAULTS = NOTHING | {"role": "test", "selection": "none"}
"""The value of a column that an experiment's table lacks."""


def row_of(columns: Mapping[str, Any]) -> Coordinates:
    """The row with these columns (others are ignored).

    `variant`, `fold` and optional coordinates may be missing.
    """
    given = {"variant": "", "fold": ""} | OPTIONAL | dict(columns)
    return Coordinates(*(given[column] for column in ROW))


def collect(
    rows: Sequence[Mapping[str, Any]],
    score_files: Sequence[str | os.PathLike],
    *,
    tables: Sequence[str | os.PathLike] = (),
) -> pd.DataFrame:
    """The scores of a study's rows in one sorted long table.

    Args:
        rows: the columns of each row, and `run`, the folder of its run.
        score_files: for each row the Parquet file of its run's scores, with the columns of
            `SCORES`, or the long table of a published study that has them; rows of one run have
            the same file.
        tables: Parquet files of experiments, which have the columns of `SCHEMA` already; a
            column that one lacks is filled with its default, `run` with the folder's name, `seed`
            with the number in the file's name (`seed<n>.parquet`).

    Raises:
        UserError: a file whose columns or types differ, or that names an unknown selection rule or
            role; two scores for one row, role, selection and metric.
    """
    files = [Path(file) for file in score_files]
    read = {file: read_table(file) for file in dict.fromkeys(files)}
    parts = [SCHEMA.empty_table()]
    parts += [
        _named(row, _of_run(row, read[file], file)) for row, file in zip(rows, files, strict=True)
    ]
    parts += [_read_experiment(Path(table)) for table in tables]
    scores = pa.concat_tables(parts).to_pandas()
    repeated = scores[scores.duplicated([*ROW, "role", "selection", "metric"])]
    if len(repeated):
        first = repeated.iloc[0]
        raise UserError(
            f"row {row_of(first)} has two scores for {first.metric} on {first.role} images at "
            f"{first.selection}; allowed: one"
        )
    return scores.sort_values(_SORTED_BY, kind="stable", ignore_index=True)


def aggregate(
    rows: Sequence[Mapping[str, Any]],
    score_files: Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    runs: str | os.PathLike,
    tables: Sequence[str | os.PathLike] = (),
) -> None:
    """Write the scores of a study to one sorted Parquet file, and the run of each row.

    Args:
        output: the Parquet file to write.
        runs: the CSV file to write: the columns of a row, and `run`, the folder of its run.
        rows, score_files, tables: as `collect` takes and checks them.
    """
    scores = collect(rows, score_files, tables=tables)
    write_csv(runs, pd.DataFrame(rows, columns=[*ROW, "run"]).drop_duplicates())
    table = pa.Table.from_pandas(scores, schema=SCHEMA, preserve_index=False)
    write_table(table.replace_schema_metadata(None), output)


def read_scores(path: str | os.PathLike) -> pd.DataFrame:
    """Read a study's long table, its columns and types checked.

    Raises:
        UserError: columns or types differ from `SCHEMA`.
    """
    return _checked(read_table(Path(path)), Path(path), SCHEMA).to_pandas()


def no_scores() -> pd.DataFrame:
    """A long table without scores."""
    return SCHEMA.empty_table().to_pandas()


def in_rows(scores: pd.DataFrame, rows: Iterable[Mapping[str, Any]]) -> pd.Series:
    """For each score, whether it belongs to one of these rows."""
    wanted = pd.MultiIndex.from_tuples([row_of(row) for row in rows], names=ROW)
    return pd.Series(pd.MultiIndex.from_frame(scores[ROW]).isin(wanted), index=scores.index)


def _of_run(row: Mapping[str, Any], table: pa.Table, path: Path) -> pa.Table:
    """The scores of a row's run, also from a long table, in which it may have several names."""
    if "run" not in table.column_names:
        return _checked(table, path, SCORES)
    is_asked = (pc.field("run") == row["run"]) & (pc.field("fold") == str(row_of(row).fold))
    scores = _checked(table, path, SCHEMA).filter(is_asked).select(SCORES.names)
    if not len(scores):
        raise UserError(f"{path}: has no scores of {row['run']}")
    return scores.group_by(SCORES.names).aggregate([]).select(SCORES.names)


def _named(row: Mapping[str, Any], scores: pa.Table) -> pa.Table:
    """A run's scores under a row's columns."""
    columns = row_of(row)._asdict() | {"run": row["run"]}
    for name in SCHEMA.names[: -len(SCORES)]:
        values = pa.array([columns[name]] * len(scores), SCHEMA.field(name).type)
        scores = scores.append_column(SCHEMA.field(name), values)
    return scores.select(COLUMNS)


def _read_experiment(path: Path) -> pa.Table:
    table = read_table(path)
    of_file = {"run": path.parent.name}
    if numbered := re.fullmatch(r"seed(\d+)", path.stem):
        of_file["seed"] = int(numbered[1])
    for name, value in (DEFAULTS | of_file).items():
        default = pa.scalar(value, SCHEMA.field(name).type)
        if name not in table.column_names:
            table = table.append_column(name, pa.repeat(default, len(table)))
        elif table[name].null_count:
            position = table.column_names.index(name)
            table = table.set_column(position, name, table[name].fill_null(default))
    return _checked(table, path, SCHEMA)


def _checked(table: pa.Table, path: Path, schema: pa.Schema) -> pa.Table:
    if sorted(table.column_names) != sorted(schema.names):
        missing = sorted(set(schema.names) - set(table.column_names))
        extra = sorted(set(table.column_names) - set(schema.names))
        raise UserError(
            f"{path}: wrong columns (missing: {', '.join(missing) or 'none'}; "
            f"not allowed: {', '.join(extra) or 'none'}); allowed: {', '.join(schema.names)}"
        )
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: a column has the wrong type ({reason})") from error
    for column, allowed in (("selection", SELECTIONS), ("role", ROLES)):
        for value in table[column].unique().to_pylist():
            if value not in allowed:
                raise UserError(f"{path}: {column} {value!r}; allowed: {', '.join(allowed)}")
    return table

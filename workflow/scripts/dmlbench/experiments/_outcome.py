"""What an experiment finds, and the two files that keep it."""

import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dmlbench.errors import UserError, unknown
from dmlbench.files import atomic_write
from dmlbench.parquet import write_table
from dmlbench.plan.catalogs.rows import NOTHING, NUMBERS, all_but

DEFAULTS = {name: NOTHING[name] for name in all_but("seed")}
DEFAULTS |= {"role": "test", "selection": "none"}
"""Column -> its value if an experiment does not give it."""

SCHEMA = pa.schema(
    [(name, pa.int64() if name in NUMBERS else pa.string()) for name in DEFAULTS]
    + [("metric", pa.string()), ("value", pa.float64())]
)


class Outcome(NamedTuple):
    """What an experiment finds for one seed.

    Attributes:
        table: long form, one row per value: metric, value and any columns of `DEFAULTS`. Metrics
            of an embedding space are fractions.
        arrays: name -> array, for figures.
    """

    table: pd.DataFrame
    arrays: dict[str, np.ndarray]


def joined(
    parts: Iterable[pd.DataFrame], arrays: dict[str, np.ndarray], **columns: object
) -> Outcome:
    """Tables of scores as one, with columns whose values all of its rows have."""
    return Outcome(pd.concat(parts, ignore_index=True).assign(**columns), arrays)


def rows(scores: dict[str, float], **columns) -> pd.DataFrame:
    """Scores by metric as rows of a long table that share the other columns."""
    frame = pd.DataFrame({"metric": list(scores), "value": list(map(float, scores.values()))})
    return frame.assign(**columns)


def write_outcome(outcome: Outcome, *, table: str | os.PathLike, arrays: str | os.PathLike) -> None:
    """Write an outcome as Parquet (columns of `SCHEMA`) and npz, each completely or not at all.

    Raises:
        UserError: a column is unknown or missing, or a value has two rows.
    """
    completed = _completed(outcome.table)
    write_table(completed, table)
    with atomic_write(arrays) as unfinished, open(unfinished, "wb") as file:
        np.savez_compressed(file, **outcome.arrays)


def _completed(table: pd.DataFrame) -> pa.Table:
    for column in table.columns:
        if column not in SCHEMA.names:
            raise unknown("column of an experiment's table", column, SCHEMA.names)
    for column in ("metric", "value"):
        if column not in table:
            raise UserError(f"an experiment's table has no column {column}; allowed: one with it")
    missing = {name: value for name, value in DEFAULTS.items() if name not in table}
    table = table.assign(**missing)[SCHEMA.names]
    repeated = table[table.duplicated(SCHEMA.names[:-1])]
    if len(repeated):
        first = ", ".join(f"{key} {value}" for key, value in repeated.iloc[0].items() if value)
        raise UserError(f"an experiment's table has two rows for one value ({first})")
    return pa.Table.from_pandas(table, schema=SCHEMA, preserve_index=False).replace_schema_metadata(
        None
    )

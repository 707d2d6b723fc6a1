"""Parquet tables of data sets: fixed columns, and facts about their creation in the metadata."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from dmlbench.parquet import read_metadata, write_table

if TYPE_CHECKING:  # reading facts alone does not need pandas
    import pandas

_KEY = b"dmlbench"


def write(frame: "pandas.DataFrame", schema: pa.Schema, facts: dict, output: Path) -> None:
    """Write a table with exactly the schema's columns; `facts` go into its metadata as JSON."""
    table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    facts = facts | {"rows_sha256": _digest(frame[schema.names])}
    table = table.replace_schema_metadata({_KEY: json.dumps(facts, sort_keys=True)})
    write_table(table, output, compression="zstd")


def table_facts(path: Path) -> dict:
    """The facts that `write` put into a table's metadata; a DamagedError names a damaged file."""
    return json.loads(read_metadata(path)[_KEY])


def _digest(frame: "pandas.DataFrame") -> str:
    """Digest of the values of a table: the same for the same rows, whatever wrote the file.

    The digests of images, a later column of indices, are left out.
    """
    text = frame.drop(columns="sha256", errors="ignore").to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode()).hexdigest()

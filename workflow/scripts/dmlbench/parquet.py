"""Reading Parquet files: an error names a damaged one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dmlbench.files import damage_is_named


def read_table(path: Path, columns: list[str] | None = None, filters=None) -> pa.Table:
    """The rows of a file, without columns from the names of its folders.

    Args:
        columns: those that are read; None for all.
        filters: an expression of pyarrow that rows must fulfill.

    Raises:
        DamagedError: the file is not Parquet, or a part of it is missing.
    """
    with damage_is_named(path, pa.ArrowException):
        return pq.read_table(path, columns=columns, filters=filters, partitioning=None)


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata that the writer put into a file's schema; errors as `read_table`."""
    with damage_is_named(path, pa.ArrowException):
        return pq.read_schema(path).metadata or {}

"""Reading and writing Parquet files: an error names a damaged one."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dmlbench import provenance
from dmlbench.files import atomic_write, damage_is_named
from dmlbench.shared_files import regular_status


def write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a file with checksums of its pages, which any reader of Parquet can check.

    Args:
        options: of `pyarrow.parquet.write_table`.
    """
    with atomic_write(path) as unfinished:
        pq.write_table(table, unfinished, write_page_checksum=True, **options)


def read_table(path: Path, columns: list[str] | None = None, filters=None) -> pa.Table:
    """The rows of a file, without columns from the names of its folders.

    Args:
        columns: those that are read; None for all.
        filters: an expression of pyarrow that rows must fulfill.

    Raises:
        DamagedError: the file is not Parquet, a part of it is missing, a page differs from its
            checksum, or the file from its record (`dmlbench.provenance`).
    """
    provenance.check(path)
    with damage_is_named(path, pa.ArrowException):
        regular_status(path)
        return pq.read_table(
            path,
            columns=columns,
            filters=filters,
            partitioning=None,
            page_checksum_verification=True,
        )


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata that the writer put into a file's schema; errors as `read_table`."""
    provenance.check(path)
    with damage_is_named(path, pa.ArrowException):
        regular_status(path)
        return pq.read_schema(path).metadata or {}

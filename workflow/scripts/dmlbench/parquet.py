"""Parquet files as they are read everywhere: a damaged one is named."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dmlbench.files import damage_is_named


def read_table(path: Path, columns: list[str] | None = None, filters=None) -> pa.Table:
    """The rows of a file, and no columns from the names of its folders.

    Args:
        columns: those that are read; None for all.
        filters: an expression of pyarrow that rows must fulfil.

    Raises:
        DamagedError: the file is no Parquet, or a part of it is missing.
    """
    with damage_is_named(path, pa.ArrowException):
        return pq.read_table(path, columns=columns, filters=filters, partitioning=None)


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """The metadata that a file's writer has put into its schema; errors as `read_table`."""
    with damage_is_named(path, pa.ArrowException):
        return pq.read_schema(path).metadata or {}


def do_without_pandas() -> None:
    """Keep pyarrow from loading pandas, in a process whose arrays are NumPy's.

    Where pandas is installed, pyarrow loads it with its first array: a quarter of a second in each
    of thousands of small jobs. Here it makes one while pandas cannot be found, and then does
    without, until `to_pandas` asks for it.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.scalar(0)
        finally:
            sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """A finder of modules that knows of no pandas."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

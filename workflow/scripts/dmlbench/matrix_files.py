"""Files with a matrix of numbers, one row per image: .npy, or Parquet with a column of lists."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dmlbench.errors import UserError
from dmlbench.evaluation.checks import check_rows
from dmlbench.words import counted

SUFFIXES = (".npy", ".parquet")


def read_matrix(path: Path, labels: int) -> np.ndarray:
    """The rows [N, D] of a .npy, or of the one column of lists of a Parquet file.

    Args:
        labels: number of labels; there must be as many rows.

    Raises:
        UserError: no such file, another format, rows of unequal length or with NaN or infinity,
            another number of rows.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if path.suffix not in SUFFIXES:
        found = path.suffix or "without suffix"
        raise UserError(f"{path}: a file {found}; allowed: {', '.join(SUFFIXES)}")
    rows = check_rows(_of_parquet(path) if path.suffix == ".parquet" else _of_npy(path), str(path))
    if len(rows) != labels:
        raise UserError(
            f"{path}: {counted(len(rows), 'row')}; allowed: {labels:,}, as many as there are "
            "labels, in their order"
        )
    return rows


def _of_npy(path: Path) -> np.ndarray:
    try:
        return np.load(path)
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"{path}: not an array of numbers: {error}") from None


def _of_parquet(path: Path) -> np.ndarray:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not Parquet: {' '.join(str(error).split())}") from None
    lists = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if len(lists) != 1:
        raise UserError(f"{path}: {len(lists)} columns of lists; allowed: one, of embeddings")
    column = table[lists[0]].combine_chunks()
    if len(pc.list_value_length(column).unique()) != 1 or column.null_count:
        raise UserError(f"{path}: {lists[0]}: lists of unequal length; allowed: one length for all")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)

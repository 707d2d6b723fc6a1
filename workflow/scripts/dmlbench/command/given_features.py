"""How `new` reads features that another program has computed."""

import os
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError
from dmlbench.matrix_files import SUFFIXES, read_matrix
from dmlbench.text_table import read_text_table


class Given(NamedTuple):
    """A data set of features.

    Attributes:
        folder: the list that is the data set.
        options: of its layout.
        width: numbers of each row.
    """

    folder: str
    options: dict[str, str]
    width: int


def has_features(where: Path) -> bool:
    """Whether this is a file of features, and not a folder or an archive of images."""
    return where.suffix in SUFFIXES and not where.is_dir()


def read_given(where: Path, labels: Path | None, columns: dict[str, str]) -> Given:
    """What a file of features is as a data set.

    Args:
        where: .npy or Parquet.
        labels: the list of its rows; None if it is a Parquet file that has them itself.
        columns: of the list that are named otherwise; pictures are those of `path`, if there are
            any.

    Raises:
        UserError: as `read_text_table` and `read_matrix`.
    """
    if labels is None and where.suffix == ".npy":
        raise UserError(f"{where}: has no labels; allowed with --labels: a CSV or Parquet of them")
    if columns.keys() & {"box", "group"}:
        raise UserError(f"{where}: --box and --group are for images; allowed: --label, --path")
    listed = labels or where
    table = read_text_table(listed)
    options = {"path": "path"} if "path" in table else {}
    if listed != where:
        options["file"] = os.path.relpath(where.absolute(), listed.absolute().parent)
    width = read_matrix(where, len(next(iter(table.values()), []))).shape[1]
    return Given(str(listed), options | columns, width)

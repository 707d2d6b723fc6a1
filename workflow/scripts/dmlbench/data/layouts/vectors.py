"""Vectors that another program has computed, with the class of each."""

import hashlib
from pathlib import Path

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import subsets_of
from dmlbench.data.layouts._rows import rows
from dmlbench.data.layouts.subset_folders import ORDER
from dmlbench.errors import UserError, check_known
from dmlbench.image_folder import matrix_next_to
from dmlbench.matrix_files import read_matrix
from dmlbench.text_table import check_filled, read_text_table
from dmlbench.values import Part

IMAGES_ONLY = True


class Vectors(Part):
    """The archive is a list, CSV or Parquet; each row of it is a vector, its class and its name.

    The vectors are the list's column of lists, or the rows of a matrix. A column `id`, if there is
    one, names them; columns `split` and `role` are as in the layout `listed`.

    Args:
        file: the matrix, .npy or Parquet, from the list's folder on; None for the list's own.
        label: the column of classes.
        path: the column of pictures, from the list's folder on, which pages show and no score
            depends on; None if there are none.

    Raises:
        UserError: no such file or column, a row without a class, two rows of one name or picture, a
            picture that is absent, an unknown subset, vectors that `read_matrix` refuses.
    """

    file: str | None = None
    label: str = "label"
    path: str | None = None

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        (archive,) = archives
        where = str(archive.path)
        table = pandas.DataFrame(read_text_table(archive.path), dtype=object)
        check_known(where, "column", filter(None, (self.label, self.path)), table.columns)
        check_filled(where, self.label, table[self.label])
        for column in {"id", self.path} & set(table):
            _check_unique(where, column, table[column])
        names = table.get(self.path or "id", pandas.Series(map(str, table.index)))
        if self.path:
            _check_there(archive, names)
        images = zip(names, table[self.label], subsets_of(table, where), strict=True)
        index = rows([(archive.name, *image) for image in images], ["all", *ORDER])
        own = pandas.DataFrame({"row": range(len(table))}, index=names)
        vectors = read_matrix(matrix_next_to(archive.path, self.file) or archive.path, len(table))
        if not self.path:
            own["sha256"] = [hashlib.sha256(vector.tobytes()).hexdigest() for vector in vectors]
        return index.join(own, on="member")


def _check_unique(where: str, column: str, values: pandas.Series) -> None:
    again = values[values.duplicated()]
    if len(again):
        raise UserError(
            f"{where}: {len(again)} rows have the {column} of an earlier one, {again.iloc[0]!r} "
            "among them; allowed: one row for each"
        )


def _check_there(archive: Archive, names: pandas.Series) -> None:
    there = set(archive.held(set(names)))
    absent = [name for name in names if name not in there]
    if absent:
        raise UserError(
            f"{archive.path}: {len(absent)} of {len(names)} pictures are absent, {absent[0]!r} "
            f"among them; allowed: paths from {Path(archive.path).parent} on"
        )

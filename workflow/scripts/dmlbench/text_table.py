"""Tables of text as people have them: CSV with any usual separator, or Parquet."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dmlbench.errors import UserError
from dmlbench.words import counted

_SEPARATORS = ",;\t"


def read_text_table(path: Path) -> dict[str, list[str]]:
    """The columns of a file as `text_table` gives them; a UserError if there is no such file."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    return text_table(path.read_bytes(), str(path))


def text_table(data: bytes, where: str) -> dict[str, list[str]]:
    """The columns of a table, all values as text without blanks around them, '' for missing ones.

    The separator is the one that the header has most of. Separators at the ends of lines, as
    spreadsheets leave them, make no column. Of a Parquet file, columns of lists are left out.

    Args:
        data: the file.
        where: its name, for messages; `.parquet` at its end says that it is one.

    Raises:
        UserError: neither CSV nor Parquet; a column that is there twice; a line of more values than
            the header, or of fewer.
    """
    if where.endswith(".parquet"):
        return _parquet(data, where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not text in UTF-8: {error}") from None
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        numbered = [(lines.line_num, [cell.strip() for cell in line]) for line in lines]
    except csv.Error as error:
        raise UserError(f"{where}: not CSV: {error}") from None
    numbered = [(number, line) for number, line in numbered if any(line)]
    if not numbered:
        raise UserError(f"{where}: empty; allowed: a header and a line for each row")
    (_, header), *rows = numbered
    while not header[-1]:
        header.pop()
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{where}: two columns are called {name!r}; allowed: one")
    for number, line in rows:
        if len(line) < len(header) or any(line[len(header) :]):
            raise UserError(
                f"{where}: line {number} has {len(line)} values; allowed: {len(header)}, as the "
                "header"
            )
    return {name: [line[place] for _, line in rows] for place, name in enumerate(header)}


def check_filled(where: str, column: str, values: Sequence[str]) -> None:
    """Raise a UserError if a row has no value in a column."""
    missing = [row for row, value in enumerate(values, start=1) if not value]
    if missing:
        raise UserError(
            f"{where}: {counted(len(missing), 'row')} without a {column}, row {missing[0]} among "
            "them; allowed: one in every row"
        )


def _parquet(data: bytes, where: str) -> dict[str, list[str]]:
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{where}: not Parquet: {' '.join(str(error).split())}") from None
    return {
        name: ["" if each is None else str(each).strip() for each in table[name].to_pylist()]
        for name in table.column_names
        if not pa.types.is_nested(table.schema.field(name).type)
    }

"""Printed numbers at their places, as far as a plan needs them: without their values."""

from collections import namedtuple
from collections.abc import Iterable
from pathlib import Path

from dmlbench.plan.mapping import NOWHERE, Mapping, read_cells, read_mapping
from dmlbench.plan.rows import PLACED, all_but
from dmlbench.plan.where import Where, has_variant


class Number(namedtuple("Number", (*PLACED, "role", "metric", "placed"))):
    """The place of a printed number; the columns of one without a place are as printed.

    Attributes:
        placed: whether it has a place among our scores.
    """


def read_numbers(files: Iterable[Path]) -> list[Number]:
    """The numbers of transcriptions `table_*.csv`, placed by the mapping in their folder.

    Raises:
        UserError: a mapping is missing, or neither places a number nor says that it has no place.
    """
    mappings = {folder: read_mapping(folder) for folder in {file.parent for file in files}}
    return [number for file in files for number in _numbers(file, mappings[file.parent])]


def fitting(numbers: Iterable[Number], where: Where) -> list[Number]:
    """Numbers of a view's rows; those without a place are selected by data set alone."""
    return [number for number in numbers if fits(number, where, placed=number.placed)]


def fits(number, where: Where, *, placed: bool) -> bool:
    """Whether a number with the columns of a place is one of a view's rows, as in `fitting`."""
    for column in all_but("recipe", "variant", "fold", "seed"):
        wanted = getattr(where, column)
        free = wanted is None or (not placed and column != "dataset")
        if not free and getattr(number, column) not in wanted:
            return False
    return where.variant is None or not placed or has_variant(number.variant, where.variant)


def _numbers(file: Path, mapping: Mapping) -> list[Number]:
    numbers = []
    for cell in read_cells(file):
        placed = not mapping.why_unplaced(cell)
        if placed:
            place = mapping.place(cell)._asdict()
        else:
            place = NOWHERE | cell | {"role": cell["split"], "split": ""}
            place["embedding_dim"] = int(cell["embedding_dim"] or 0)
        columns = {column: place[column] for column in Number._fields if column in place}
        numbers.append(Number(**columns, placed=placed))
    return numbers

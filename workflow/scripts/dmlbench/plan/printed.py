"""Printed numbers at their places, as far as a plan needs them: without their values."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from dmlbench.plan.mapping import CELL, Mapping, read_mapping, table_id
from dmlbench.plan.where import Where, has_variant


class Number(NamedTuple):
    """The place of a printed number; the columns of one without a place are as printed.

    Attributes:
        placed: whether it has a place among our scores.
    """

    dataset: str
    network: str
    embedding_dim: int
    method: str
    variant: str
    split: str
    fold: str
    role: str
    metric: str
    placed: bool


def read_numbers(files: Iterable[Path]) -> list[Number]:
    """The numbers of transcriptions `table_*.csv`, placed by the mapping in their folder.

    Raises:
        UserError: a mapping is missing, or neither places a number nor says that it has no place.
    """
    mappings = {folder: read_mapping(folder) for folder in {file.parent for file in files}}
    return [number for file in files for number in _numbers(file, mappings[file.parent])]


def fitting(numbers: Iterable[Number], where: Where) -> list[Number]:
    """Numbers of a view's rows; those without a place are selected by data set alone."""
    return [number for number in numbers if _fits(number, where)]


def _numbers(file: Path, mapping: Mapping) -> list[Number]:
    found = []
    with file.open(newline="") as lines:
        for line in csv.DictReader(lines):
            cell = {name: line[name] for name in (*CELL, "panel")} | {
                "table": table_id(line["table"])
            }
            if mapping.why_unplaced(cell):
                size = int(cell["embedding_dim"] or 0)
                own = [cell[name] for name in ("dataset", "network", "method", "variant")]
                dataset, network, method, variant = own
                place = (dataset, network, size, method, variant, "", "", cell["split"])
                found.append(Number(*place, cell["metric"], placed=False))
            else:
                place = mapping.place(cell)._asdict()
                columns = {column: place[column] for column in Number._fields if column in place}
                found.append(Number(**columns, placed=True))
    return found


def _fits(number: Number, where: Where) -> bool:
    for column in ("dataset", "network", "embedding_dim", "method", "split"):
        wanted = getattr(where, column)
        free = not number.placed and column != "dataset"
        if wanted is not None and getattr(number, column) not in wanted and not free:
            return False
    if where.variant is None or not number.placed:
        return True
    return has_variant(number.variant, where.variant)

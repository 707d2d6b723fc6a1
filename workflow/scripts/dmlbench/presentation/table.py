"""A table of numbers, and its four formats: CSV, Markdown, LaTeX, HTML."""

import csv as comma_separated
import io
import itertools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dmlbench.files import write_text
from dmlbench.presentation import _html, _latex, _markdown
from dmlbench.presentation.texts import REHEARSAL, TOY_NUMBERS, rounded

BEST, SECOND, PLAIN = "best", "second", ""


@dataclass(frozen=True)
class Column:
    """One column: its name in the CSV, its header below a group's header, its number format.

    `better` is "higher" or "lower" if the best and second best cell are to be marked, else empty. A
    signed column prints a plus before positive numbers.
    """

    name: str
    header: str
    group: str = ""
    decimals: int = 2
    better: str = ""
    signed: bool = False


@dataclass(frozen=True)
class Cell:
    """A number with an optional spread (printed after ±), a text, or nothing (None)."""

    value: float | int | str | None
    spread: float | None = None


@dataclass(frozen=True)
class TableRow:
    """A labeled row; baselines follow below a rule and are never marked as best.

    Rows of one panel are consecutive below its heading, and are compared only with each other.
    """

    label: str
    cells: tuple[Cell, ...]
    baseline: bool = False
    panel: str = ""


@dataclass(frozen=True)
class Table:
    """A titled table; `row_header` heads the labels, `notes` are printed below.

    In every column with `better`, the best cell is bold and the second best is underlined. Cells
    are compared as printed, so that cells that look equal are marked alike. A rehearsal has
    `rehearsal` as first column of its CSV.
    """

    id: str
    title: str
    caption: str
    row_header: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = field(default=())
    rehearsal: bool = False

    def to_csv(self) -> str:
        """Plain numbers as printed, one line per row; a spread has a column `<name>_std`.

        If rows are in panels, the first column names the panel.
        """
        panels = any(row.panel for row in self.rows)
        spread = [
            any(row.cells[position].spread is not None for row in self.rows)
            for position in range(len(self.columns))
        ]
        head = ["rehearsal"] if self.rehearsal else []
        head += ["panel", self.row_header] if panels else [self.row_header]
        for column, has_spread in zip(self.columns, spread, strict=True):
            head += [column.name, f"{column.name}_std"] if has_spread else [column.name]
        file = io.StringIO()
        writer = comma_separated.writer(file, lineterminator="\n")
        writer.writerow(head)
        for row in self.rows:
            line = [TOY_NUMBERS] if self.rehearsal else []
            line += [row.panel, row.label] if panels else [row.label]
            for column, cell, has_spread in zip(self.columns, row.cells, spread, strict=True):
                line.append(_number(cell.value, column))
                if has_spread:
                    line.append(_number(cell.spread, column, signed=False))
            writer.writerow(line)
        return file.getvalue()

    def to_markdown(self) -> str:
        """A pipe table under the title; best in bold, second best underlined."""
        return _markdown.markdown(self)

    def to_latex(self) -> str:
        """A floating `table` around a booktabs `tabular`; best in bold, second best underlined."""
        return _latex.latex(self)

    def to_html(self) -> str:
        """A `<table>` with the caption in it; cells of class `best` and `second`."""
        return _html.html(self)

    def groups(self) -> list[tuple[str, int]]:
        """Headers above the headers: (text or empty, number of columns), left to right."""
        runs = itertools.groupby(self.columns, key=lambda column: column.group)
        return [(group, len(list(columns))) for group, columns in runs]

    def texts(self) -> list[list[tuple[str, str]]]:
        """Each row's cells as (printed text, mark), where mark is "best", "second" or empty."""
        marks = [self._marks(position) for position in range(len(self.columns))]
        return [
            [
                (_text(cell, column), marks[position].get(index, PLAIN))
                for position, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True))
            ]
            for index, row in enumerate(self.rows)
        ]

    def begins_baselines(self, index: int) -> bool:
        """Whether there is a rule above row `index`, the first baseline below other rows."""
        if index == 0 or self.begins_panel(index):
            return False
        return self.rows[index].baseline and not self.rows[index - 1].baseline

    def begins_panel(self, index: int) -> bool:
        """Whether there is a panel's heading above row `index`."""
        above = self.rows[index - 1].panel if index else ""
        return self.rows[index].panel != above

    def _marks(self, position: int) -> dict[int, str]:
        panels = dict.fromkeys(row.panel for row in self.rows)
        return {
            index: mark
            for panel in panels
            for index, mark in self._marks_of_panel(position, panel).items()
        }

    def _marks_of_panel(self, position: int, panel: str) -> dict[int, str]:
        column = self.columns[position]
        printed = {
            index: float(rounded(row.cells[position].value, column.decimals))
            for index, row in enumerate(self.rows)
            if row.panel == panel and not row.baseline and _is_number(row.cells[position].value)
        }
        order = sorted(set(printed.values()), reverse=column.better == "higher")
        if not column.better or len(order) < 2:
            return {}
        mark = dict(zip(order, (BEST, SECOND), strict=False))
        return {index: mark.get(value, PLAIN) for index, value in printed.items()}


def known(value: float | str | None) -> Cell:
    """The cell of a number or a text, empty if it is missing."""
    missing = value is None or (not isinstance(value, str) and math.isnan(value))
    return Cell(None if missing else value)


def summarized(row) -> Cell:
    """The cell of a row of `statistics.summary.summarize`; empty without one."""
    return Cell(None) if row is None else Cell(row.mean, row.std if row.seeds > 1 else None)


def legend(columns: Sequence[Column]) -> str:
    """What a caption says about marks; empty if no column has any."""
    marked = any(column.better for column in columns)
    return " Best in bold, second best underlined." if marked else ""


def as_rehearsal(table: Table) -> Table:
    """The table, marked as toy numbers in every format."""
    return replace(
        table,
        title=f"Rehearsal, {TOY_NUMBERS}: {table.title}",
        caption=f"{REHEARSAL} {table.caption}",
        rehearsal=True,
    )


def write(table: Table, **files: str | os.PathLike) -> None:
    """Write a table in the requested formats (`csv`, `md`, `tex`, `html`), each to its file."""
    texts = {
        "csv": table.to_csv,
        "md": table.to_markdown,
        "tex": table.to_latex,
        "html": table.to_html,
    }
    for kind, path in files.items():
        write_text(path, texts[kind]())


def _is_number(value) -> bool:
    return value is not None and not isinstance(value, str) and math.isfinite(value)


def _number(value, column: Column, *, signed: bool = True) -> str:
    if isinstance(value, str):
        return value
    if not _is_number(value):
        return ""
    sign = "+" if column.signed and signed else ""
    return rounded(value, column.decimals, sign=sign)


def _text(cell: Cell, column: Column) -> str:
    text = _number(cell.value, column) or "–"
    if column.signed:
        text = text.replace("-", "−")
    spread = _number(cell.spread, column, signed=False)
    return f"{text} ± {spread}" if spread else text

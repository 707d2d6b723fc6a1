"""Where a printed number finds our scores: config/reference/<study>/mapping.yaml.

A printed cell is one line of a `table_*.csv`; its place is the same number's position in our long
table of scores. Columns that are equal in both need no rule.
"""

import csv
import functools
import re
from collections import namedtuple
from collections.abc import Mapping as Columns
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PositiveInt, create_model, model_validator

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.choices import Model
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.catalogs.rows import OPTIONAL, PLACED, all_but

CELL = (*all_but("recipe", "fold", "seed", *OPTIONAL), "metric")
"""The columns of a printed cell that, with table and panel, identify what was measured."""
COORDINATES = ("table", "panel", *CELL)
Coordinate = Literal[COORDINATES]

_PLACE = (*PLACED, "role", "metric", "by", "experiment")

ROLES = {"val": "validation"}
"""Printed words for the scored images, where they differ from ours."""

_NAME = re.compile(r"\{(\w+?)(-1)?\}")


class Place(namedtuple("Place", _PLACE)):
    """A printed number's position in the long table of scores, under any recipe.

    Attributes:
        fold: empty, a fold, `concatenated`, `separated`, `mean` (over the folds) or `best` (the
            fold with the best validation score).
        by: for the best fold, the metric that selects it.
        experiment: the experiment with the number; empty for a trained network's.
    """


NOWHERE = dict.fromkeys(Place._fields, "") | OPTIONAL
"""The values of columns that neither a cell nor a rule gives."""


def _texts(value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    return [str(some) if isinstance(some, int | float) else some for some in values]


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else value


Patterns = Annotated[list[str], BeforeValidator(_texts)]
Template = Annotated[str, BeforeValidator(_text)]


_When = create_model(
    "_When",
    __base__=Model,
    **dict.fromkeys(COORDINATES, (Patterns | None, None)),
)
_Then = create_model("_Then", __base__=Model, **dict.fromkeys(_PLACE, (Template | None, None)))


class When(_When):
    """A filter of cells: for every given column, the cell's text is one of those listed.

    `{name}` matches any text without a semicolon.
    """

    def match(self, cell: Columns[str, str]) -> dict[str, str] | None:
        """The values of the patterns' names in a cell; None for a cell that does not match."""
        named: dict[str, str] = {}
        for column, texts, patterns in self._given:
            if cell[column] in texts:
                continue
            fitting = next(filter(None, (each.fullmatch(cell[column]) for each in patterns)), None)
            if fitting is None:
                return None
            named |= fitting.groupdict()
        return named

    @functools.cached_property
    def _given(self) -> list[tuple[str, frozenset[str], list[re.Pattern]]]:
        """Each given column with its texts, or with its patterns if one of them has a name."""
        # Claims ask of every cell: what has no name is looked up.
        return [
            (column, frozenset(), list(map(_pattern, listed)))
            if any("{" in each for each in listed)
            else (column, frozenset(listed), [])
            for column, listed in self
            if listed is not None
        ]

    def names(self) -> set[str]:
        """The names in the patterns."""
        patterns = [pattern for _, listed in self for pattern in listed or ()]
        return {name for pattern in patterns for name, _ in _NAME.findall(pattern)}


class Then(_Then):
    """The columns of a place that differ from the cell's.

    `{name}` is the value of a pattern's name or of the cell's column, `{name-1}` one less.
    """


class Rule(Model):
    """A change of the place of some cells; of several that match, the last one wins."""

    when: When = When()
    then: Then

    @model_validator(mode="after")
    def _names_are_known(self) -> "Rule":
        known = {*self.when.names(), *CELL}
        for column, template in self.then:
            for name, _ in _NAME.findall(template or ""):
                if name not in known:
                    raise ValueError(
                        f"then.{column}: {{{name}}} has no value; allowed: "
                        f"{', '.join(sorted(known))}"
                    )
        return self


class Unplaced(Model):
    """Cells without a corresponding score of ours, and the reason."""

    when: When
    why: str


class Mean(Model):
    """What a printed number is the mean of: one run, if not given.

    Attributes:
        runs: how many runs it is the mean of.
        spread: what is printed with it: the n-1 standard deviation of those runs, the one over n,
            or half of a 95 % confidence interval of their mean.
    """

    when: When = When()
    runs: PositiveInt | Literal["unknown"]
    spread: Literal["standard_deviation", "standard_deviation_over_n", "half_interval_95"]


class Selected(Model):
    """Cells that are not scores at the epoch that their run's own rule selects.

    Attributes:
        rule: each metric at its own best test epoch. They are compared with such scores alone.
    """

    when: When
    rule: Literal["own_best_test_epoch"]


class Mapping(Model):
    """How the printed cells of a study find our scores.

    Attributes:
        recipe: the recipe whose runs the printed numbers are compared with, if the study has
            several; any, if not given.
        parts: a part of a printed variant (between semicolons) -> our part; empty to leave it out.
            Parts of our variants are joined by commas.
        rules: changes of place, in order.
        unplaced: cells without a place; the first match gives the reason.
        repeats: table -> the tables whose cells it repeats.
        means: what printed numbers are means of; the first match counts.
        selections: which printed numbers have another selection rule than the runs' own; the first
            match counts.
    """

    recipe: str | None = None
    parts: dict[Annotated[str, BeforeValidator(_text)], Template] = {}
    rules: list[Rule]
    unplaced: list[Unplaced] = []
    repeats: dict[str, list[str]] = {}
    means: list[Mean] = []
    selections: list[Selected] = []

    def why_unplaced(self, cell: Columns[str, str]) -> str:
        """Why a cell has no place; empty for one that has."""
        return next((some.why for some in self.unplaced if some.when.match(cell) is not None), "")

    def place(self, cell: Columns[str, str]) -> Place:
        """The place of a printed cell.

        Args:
            cell: the columns of `CELL`, table and panel, as transcribed (table: "06").

        Raises:
            UserError: the place lacks a column that a trained network has, or its size is not a
                number.
        """
        columns = NOWHERE | {name: cell[name] for name in CELL}
        columns["role"] = ROLES.get(cell["split"], cell["split"])
        columns["split"] = ""
        columns["variant"] = self._variant(cell["variant"])
        for rule in self.rules:
            matched = rule.when.match(cell)
            if matched is not None:
                values = {**{name: cell[name] for name in CELL}, **matched}
                columns |= {
                    column: _NAME.sub(lambda name, values=values: _value(name, values), template)
                    for column, template in rule.then
                    if template is not None
                }
        _check(cell, columns)
        return Place(**columns | {"embedding_dim": int(columns["embedding_dim"] or 0)})

    def mean(self, cell: Columns[str, str]) -> Mean | None:
        """What a printed cell is the mean of; None for one run."""
        return next((mean for mean in self.means if mean.when.match(cell) is not None), None)

    def selection(self, cell: Columns[str, str]) -> str:
        """The selection rule of a printed cell; empty for its run's own."""
        rules = (some.rule for some in self.selections if some.when.match(cell) is not None)
        return next(rules, "")

    def _variant(self, printed: str) -> str:
        parts = [self.parts.get(part, part) for part in printed.split(";")]
        return ",".join(filter(None, parts))


def read_mapping(folder: Path) -> Mapping:
    """The mapping of a study's folder of printed numbers.

    Raises:
        UserError: the file is missing, or holds a wrong key or value.
    """
    return read_yaml(folder / "mapping.yaml", Mapping)


def table_id(name: str) -> str:
    """A table's name in a mapping: `06` for `table_06`."""
    return name.removeprefix("table_")


def read_cells(table: Path) -> list[dict[str, str]]:
    """The coordinates of the numbers of a transcription `table_*.csv`."""
    with table.open(newline="", encoding="utf-8") as lines:
        return list(map(cell_of, csv.DictReader(lines)))


def cell_of(line: Columns[str, str]) -> dict[str, str]:
    """The coordinates of a line of a transcription."""
    return {name: line[name] for name in COORDINATES} | {"table": table_id(line["table"])}


@functools.cache
def _pattern(text: str) -> re.Pattern:
    pieces = _NAME.split(text)
    names = [f"(?P<{name}>[^;]+)" for name in pieces[1::3]]
    texts = list(map(re.escape, pieces[::3]))
    return re.compile(texts[0] + "".join(map("".join, zip(names, texts[1:], strict=True))))


def _value(name: re.Match, values: Columns[str, str]) -> str:
    value = values[name[1]]
    return str(int(value) - 1) if name[2] else value


def _check(cell: Columns[str, str], columns: Columns[str, str]) -> None:
    where = f"{cell['table']}: {' '.join(filter(None, (cell[name] for name in CELL)))}"
    trained = ("network", "embedding_dim", "split")
    needed = ("dataset", "method", "role", "metric", *(() if columns["experiment"] else trained))
    for column in needed:
        if not columns[column]:
            raise UserError(f"printed cell {where}: its place has no {column}; a rule must say one")
    if not re.fullmatch(r"\d*", columns["embedding_dim"]):
        raise UserError(
            f"printed cell {where}: embedding_dim {columns['embedding_dim']!r}; allowed: a number"
        )

"""The printed tables of a document, and what audit.yaml says about them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import Field, model_validator

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.choices import Model
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.studies.mapping import Coordinate
from dmlbench.statistics.audit.check import CERTAIN, Where
from dmlbench.statistics.printed import read_printed

Sure = Literal["certain", "likely", "note"]


class Counts(Model):
    """Cells that are shares of queries.

    Attributes:
        where, but: the cells.
        queries: how many queries there are.
        runs: the number of runs whose mean each cell is; None if the document does not say.
    """

    where: Where
    but: Where = Field(default_factory=dict)
    queries: int = Field(gt=0)
    runs: int | None = 1


class Repeat(Model):
    """Cells that repeat cells of another table.

    Attributes:
        where: the repeating cells.
        of: the cells that they repeat.
        match: the coordinates in which a cell and the one that it repeats agree.
    """

    where: Where
    of: Where
    match: list[Coordinate] = ["dataset", "method", "metric"]


class Rerun(Repeat):
    """Cells that another table also prints, from runs of the same protocol.

    Attributes:
        runs: the number of runs whose mean each cell is.
    """

    runs: int = Field(gt=1)


class Mean(Model):
    """A cell that is the mean of others, its spread their n-1 standard deviation."""

    where: Where
    over: Where


class Ranks(Model):
    """A table of ranks.

    Attributes:
        table: the table.
        over: the cells that are ranked, the largest first.
        experiments: the coordinates that identify an experiment; each experiment gives every method
            a rank.
        columns: metric of the table -> the statistic of a method's ranks.
    """

    table: str
    over: Where
    experiments: list[Coordinate]
    columns: dict[str, Literal["sum", "mean", "std"]]


class Bold(Model):
    """What bold means.

    Attributes:
        where: the tables or columns.
        within: a bold cell is the largest of those that share these coordinates.
        or_without: a part of a variant; a bold cell may also be the largest of those without it.
    """

    where: Where = Field(default_factory=dict)
    within: list[Coordinate] = ["table", "dataset", "split", "metric"]
    or_without: str | None = None


class Bound(Model):
    """The least or the largest value that cells can have, and why.

    Attributes:
        formula: the printed formula that is to blame, such as `equation 27`; None if the numbers
            are.
        id: what is wrong, where it is not a formula.
    """

    where: Where
    id: str = ""
    formula: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    why: str
    sure: Sure = CERTAIN
    line: int | None = None


class Spread(Model):
    """Cells that are means over runs, with their standard deviation.

    Attributes:
        runs: how many runs each has.
    """

    where: Where
    runs: int = Field(gt=1)


class Law(Model):
    """A value that a printed formula must have.

    Attributes:
        formula: its name, such as `equation 23`.
        line: the line of the text that prints it.
        says: what is wrong if it has another value, as a sentence without its full stop.
        given: name -> expression in the notation of SymPy: the formula as it is printed, and what
            it is compared with. An expression may use names before it.
        at: name of a variable -> the value at which both are evaluated.
        value: an expression of the printed formula.
        must_be: the expression that it must equal.
    """

    formula: str
    line: int
    says: str
    given: dict[str, str]
    at: dict[str, float] = {}
    value: str
    must_be: str


class Statement(Model):
    """One place that states a fact: a value, or numbers from which it follows.

    Attributes:
        where: the place: a line of the text, a table, or another document.
        value, sum, product, ratio: exactly one of them.
    """

    where: str
    value: float | str | None = None
    sum: list[float] | None = None
    product: list[float] | None = None
    ratio: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "Statement":
        given = [self.value, self.sum, self.product, self.ratio]
        if sum(each is not None for each in given) != 1:
            raise ValueError("give one of value, sum, product, ratio")
        return self


class StatedFact(Model):
    """Something that is stated in several places.

    Attributes:
        says: what it is.
        stated: the places; the others are compared with the first.
        within: how far numbers may differ, as a share of the first.
    """

    id: str
    says: str
    stated: list[Statement] = Field(min_length=2)
    within: float = 0.0
    sure: Sure = CERTAIN
    assuming: str = ""


class Metadata(Model):
    """All metadata of a document; what is absent is not checked."""

    counts: list[Counts] = []
    repeats: list[Repeat] = []
    abridged: list[str] = []
    """Tables that omit a part of their rows' settings, so that equal coordinates do not imply one
    run."""
    reruns: list[Rerun] = []
    spreads: list[Spread] = []
    means: list[Mean] = []
    ranks: list[Ranks] = []
    bold: list[Bold] = []
    bounds: list[Bound] = []
    formulas: list[Law] = []
    facts: list[StatedFact] = []


@dataclass(frozen=True)
class Document:
    """What the rules check.

    Attributes:
        study: its name.
        cells: one row per printed number, with the columns of `read_printed`; `table` is the
            number alone (`06`).
        metadata: see `metadata.Metadata`.
        searches: rows of printed searches: table, method, hyperparameter, range, step and
            optimal_value as printed.
    """

    study: str
    cells: pd.DataFrame
    metadata: Metadata
    searches: pd.DataFrame


def read_document(reference: str | os.PathLike) -> Document:
    """Read a study's folder of transcriptions and its `audit.yaml`.

    Raises:
        UserError: no printed table; the metadata is missing, or has a wrong key or value.
    """
    folder = Path(reference)
    tables = sorted(path.stem.removeprefix("table_") for path in folder.glob("table_*.csv"))
    if not tables:
        raise UserError(f"no printed table at {folder / 'table_*.csv'}; allowed: one or more")
    cells = read_printed(folder, tables)
    cells["table"] = cells["table"].str.removeprefix("table_")
    return Document(
        study=folder.name,
        cells=cells,
        metadata=read_yaml(folder / "audit.yaml", Metadata),
        searches=_searches(folder),
    )


def _searches(folder: Path) -> pd.DataFrame:
    columns = ["table", "method", "hyperparameter", "range", "step", "optimal_value"]
    frames = [pd.DataFrame(columns=columns, dtype=str)]
    for path in sorted(folder.glob("settings_table_*.csv")):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if set(columns) <= set(frame):
            frames.append(frame[columns])
    searches = pd.concat(frames, ignore_index=True)
    searches["table"] = searches["table"].str.removeprefix("table_")
    return searches

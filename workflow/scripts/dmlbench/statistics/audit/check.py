"""Cells of printed tables: those that a rule looks at, and what it finds in them; and rules."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from dmlbench.plan.catalogs.rows import one_or_more
from dmlbench.plan.studies.mapping import COORDINATES, Coordinate
from dmlbench.statistics.printed import display_table

ROW = [coordinate for coordinate in COORDINATES if coordinate != "metric"]
"""The coordinates that the metrics of one printed row share."""

Where = dict[Coordinate, one_or_more(str)]
"""Coordinate -> its allowed values; coordinates that are not listed may have any value."""

AGREES = "agrees"
CERTAIN = "certain"
LIKELY = "likely"
NOTE = "note"
SURE = (CERTAIN, LIKELY, NOTE)
"""How sure a finding is: arithmetic allows nothing else; it follows from an assumption that the
explanation names; or it only says where to look."""

NUMBER = "number"
FORMULA = "formula"
SENTENCE = "sentence"
MARK = "mark"
BLAMED = (NUMBER, FORMULA, SENTENCE, MARK)
"""What is wrong if a finding is right: a printed number, a printed formula that the numbers do not
follow, a sentence of the text, or how a number is marked (bold)."""


class Check(NamedTuple):
    """One thing that was checked.

    Attributes:
        table: number of the table with its panel, as a reader writes it: `6a`, `4.10`.
        method, variant, dataset, metric: the cell; empty if the check is about more than one.
        printed: what the document prints.
        recomputed: what it should be, or what follows from the document's other numbers.
        kind: `AGREES`, else the kind of finding.
        sure: one of `SURE` for a finding, else empty.
        explanation: a plain sentence for a finding, else empty.
        blames: one of `BLAMED` for a finding, else empty.
        cause: what the findings of one rule that have one cause share, such as the name of a
            misprinted formula; empty if the place is the cause.
    """

    table: str = ""
    method: str = ""
    variant: str = ""
    dataset: str = ""
    metric: str = ""
    printed: str = ""
    recomputed: str = ""
    kind: str = AGREES
    sure: str = ""
    explanation: str = ""
    blames: str = ""
    cause: str = ""

    def found(
        self, sure: str, explanation: str, *, blames: str = NUMBER, cause: str = ""
    ) -> "Check":
        """The same check as a finding, whose kind its rule says."""
        return self._replace(sure=sure, explanation=explanation, blames=blames, cause=cause)

    def where(self) -> str:
        """The place, as a reader writes it."""
        cell = (self.method, self.variant, self.dataset, self.metric)
        return ", ".join(filter(None, [f"table {self.table}" if self.table else "", *cell]))


class Rule(NamedTuple):
    """What holds of any document.

    Attributes:
        name: its id.
        title: what it checks, in a few words.
        kind: of its findings.
        checks: gives one check for each checked item of a document, right or wrong.
        remarks: lines for the summary of a document, if it has any.
    """

    name: str
    title: str
    kind: str
    checks: Callable[[Any], Iterator[Check]]
    remarks: Callable[[Any], list[str]] | None = None

    def check(self, document) -> Iterator[Check]:
        """The checks of a `Document`."""
        for each in self.checks(document):
            yield each._replace(kind=self.kind) if each.sure else each


def rule(title: str, *, kind: str, remarks: Callable[[Any], list[str]] | None = None) -> Callable:
    """Make a rule of the function that gives its checks, by its name."""
    return lambda checks: Rule(checks.__name__, title, kind, checks, remarks)


def check_of(cell: pd.Series, recomputed: str = "") -> Check:
    """A check of one printed cell (a row of `Document.cells`) that agrees so far."""
    return Check(
        table=place(cell["table"], cell["panel"]),
        method=cell["method"],
        variant=cell["variant"],
        dataset=cell["dataset"],
        metric=cell["metric"],
        printed=cell["value"],
        recomputed=recomputed,
    )


def check_of_row(
    cells: Sequence[pd.Series],
    sources: Sequence[pd.Series] = (),
    shown: Callable[[pd.Series], str] = lambda cell: cell["value"],
) -> Check:
    """One check of several cells of a row, which agree so far, against those that they repeat."""
    return check_of(cells[0])._replace(
        metric=", ".join(cell["metric"] for cell in cells),
        printed="/".join(map(shown, cells)),
        recomputed="/".join(map(shown, sources)),
    )


def with_spread(cell: pd.Series) -> str:
    """A printed mean and its spread."""
    return f"{cell['value']}±{cell['std']}"


def place(table: str, panel: str = "") -> str:
    """`06` and panel `a` -> `6a`; `4_02` and panel `1` -> `4.2 part 1`."""
    number = display_table(table)
    if panel.isdigit():
        return f"{number} part {panel}"
    return number + panel


def select(cells: pd.DataFrame, where: Mapping[str, list[str]], but=None) -> pd.DataFrame:
    """The cells whose coordinates have one of the values of `where`, and none of those of `but`."""
    chosen = pd.Series(True, index=cells.index)
    for coordinate, values in where.items():
        chosen &= cells[coordinate].isin(values)
    for coordinate, values in (but or {}).items():
        chosen &= ~cells[coordinate].isin(values)
    return cells[chosen]

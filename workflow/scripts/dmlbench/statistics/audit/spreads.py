"""Printed spreads over runs: of nothing, or of two settings alike to the last digit."""

import itertools
import math
from collections.abc import Iterator

import pandas as pd

from dmlbench.statistics.audit.check import (
    LIKELY,
    NOTE,
    ROW,
    Check,
    check_of,
    check_of_row,
    rule,
    select,
    with_spread,
)
from dmlbench.statistics.audit.document import Document, Spread


@rule("A mean of several runs has a spread", kind="no spread")
def zero_spread(document: Document) -> Iterator[Check]:
    """One check per row that prints spreads."""
    spread = document.cells[document.cells["std"] != ""]
    for _, cells in spread.groupby(ROW, sort=False):
        yield _row(cells)


def _row(cells: pd.DataFrame) -> Check:
    zero = cells[cells["std"].astype(float) == 0]
    kept = zero if len(zero) else cells
    one = check_of_row([cell for _, cell in kept.iterrows()], shown=with_spread)
    one = one._replace(recomputed="more than 0")
    if not len(zero):
        return one
    if len(zero) == len(cells) > 1:
        return one.found(
            LIKELY,
            "All of its spreads are 0: a single run, assuming that the random seeds do anything.",
        )
    return one.found(
        NOTE, "A spread of 0 next to others of the row that are not: perhaps misprinted."
    )


_BY_CHANCE = 1e-3


@rule(
    "Two settings of a method do not share mean and spread to the last digit",
    kind="same mean and spread",
)
def twins(document: Document) -> Iterator[Check]:
    """One check per cell with a spread; the second of a pair is the finding."""
    for spread in document.metadata.spreads:
        cells = select(document.cells, spread.where)
        cells = cells[cells["std"] != ""]
        for _, column in cells.groupby(["table", "dataset", "method", "metric"], sort=False):
            yield from _column(column, spread)


def _column(cells: pd.DataFrame, spread: Spread) -> Iterator[Check]:
    twins: dict = {}
    for (_, first), (name, second) in itertools.combinations(cells.iterrows(), 2):
        same = first["value"] == second["value"] and first["std"] == second["std"]
        if same and _chance(second, spread.runs) < _BY_CHANCE:
            twins.setdefault(name, first)
    for name, cell in cells.iterrows():
        one = check_of(cell)._replace(printed=with_spread(cell))
        if name not in twins:
            yield one
            continue
        twin = twins[name]
        yield one._replace(recomputed="another number").found(
            LIKELY,
            f"The row {twin['variant']} prints the same mean and spread, which two settings that "
            f"perform equally share with a probability of {_chance(cell, spread.runs):.1g}; "
            f"assumes {spread.runs} independent runs each.",
        )


def _chance(cell: pd.Series, runs: int) -> float:
    """How probable it is that two equal settings print one mean and spread (at most 1).

    The densities at zero of the difference of two means and of two standard deviations, times the
    last digit: for normal runs, variances s^2 / n and about s^2 / (2 (n - 1)).
    """
    unit, deviation = 10.0 ** -cell["decimals"], float(cell["std"])
    if not deviation:
        return 1.0
    errors = deviation / math.sqrt(runs), deviation / math.sqrt(2 * (runs - 1))
    return math.prod(min(1.0, unit / (2 * math.sqrt(math.pi) * error)) for error in errors)

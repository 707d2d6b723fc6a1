"""Two settings do not share mean and spread over runs to the last digit, but by chance."""

import itertools
import math
from collections.abc import Iterator

import pandas as pd

from dmlbench.statistics.audit.check import LIKELY, Check, check_of, select
from dmlbench.statistics.audit.document import Document, Spread

TITLE = "Two settings of a method do not share mean and spread to the last digit"
KIND = "same mean and spread"

_BY_CHANCE = 1e-3


def check(document: Document) -> Iterator[Check]:
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
        one = check_of(cell)._replace(printed=f"{cell['value']}±{cell['std']}")
        if name not in twins:
            yield one
            continue
        twin = twins[name]
        yield one._replace(recomputed="another number").found(
            KIND,
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

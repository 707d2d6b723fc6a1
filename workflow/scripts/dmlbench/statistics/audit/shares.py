"""A percentage of N queries is 100 m / N for a whole number m, rounded.

With few queries or many decimals, no m rounds to some percentages. A cell with one of them misses.
Numbers that have nothing to do with N queries, such as means over runs, miss as often as random
ones. So misses are findings only where they are much rarer than among random numbers. All misses of
a table are one defect, as one habit can explain them: shares whose digits were cut off. That is
tested per table, against how many random misses cutting off would explain.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.statistics.audit.check import NOTE, Check, check_of, place, rule, select
from dmlbench.statistics.audit.document import Counts, Document
from dmlbench.statistics.audit.rounding import EQUAL, TRUNCATED, verdict

_SURE = 0.01
_ENOUGH_CELLS = 8


class Reading(NamedTuple):
    """What the misses of one table say.

    Attributes:
        missed: which cells no share rounds to.
        truncated: which of these are a share whose further digits were cut off.
        are_shares: whether misses are much rarer than among random numbers.
        by_chance: how many of the misses cutting off would explain if they were random numbers.
        truncation: probability of at least as many explained ones among random numbers.
    """

    missed: np.ndarray
    truncated: np.ndarray
    are_shares: bool
    by_chance: float
    truncation: float


def remarks(document: Document) -> list[str]:
    """Lines of Markdown: how many cells miss, and how many would by chance."""
    lines = [
        "A cell misses if no whole number of N queries rounds to it. Numbers that have nothing to "
        "do with N queries, such as means over several runs, miss as often as random numbers with "
        "the same decimals. So where misses are much rarer than by chance, the cells are shares of "
        "N queries and the misses are a finding; where they are about as frequent, the cells are "
        "not. Truncated: misses that are a share whose further digits were cut off, and how many "
        "would be if the misses were random.",
        "",
        "| table | queries | mean of runs | cells | misses | by chance | truncated | by chance "
        "| what it says |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|:--|",
    ]
    for counts, table in _tables(document):
        reading = read(table, counts.queries)
        missed = int(reading.missed.sum())
        runs = "?" if counts.runs is None else f"{counts.runs}"
        lines.append(
            f"| {place(table['table'].iloc[0])} | {counts.queries:,} | {runs} | {len(table)} "
            f"| {missed} ({100 * missed / len(table):.0f} %) "
            f"| {100 * expected(table, counts.queries):.0f} % "
            f"| {int(reading.truncated.sum())} | {reading.by_chance:.0f} "
            f"| {_says(table, reading, counts)} |"
        )
    return lines


@rule(
    "A percentage of N queries is a whole number of them", kind="no rounded share", remarks=remarks
)
def whole_queries(document: Document) -> Iterator[Check]:
    """One check per cell that is of a single run and could miss."""
    for counts, table in _tables(document):
        if counts.runs != 1:
            continue
        reading = read(table, counts.queries)
        says = _explanation(reading, table, counts.queries)
        for (_, cell), miss in zip(table.iterrows(), reading.missed, strict=True):
            if not chance(cell["decimals"], counts.queries):
                continue
            nearest = nearest_share(cell["number"], counts.queries)
            one = check_of(cell, f"{nearest:.{cell['decimals'] + 2}f}")
            if miss and reading.are_shares:
                one = one.found(NOTE, says, cause=f"table {place(cell['table'])}")
            yield one


def read(cells: pd.DataFrame, queries: int) -> Reading:
    """Which cells of a table miss, and whether cutting off explains them."""
    missed = np.array([misses(cell, queries) for _, cell in cells.iterrows()])
    truncated = missed & [is_truncated(cell, queries) for _, cell in cells.iterrows()]
    shares = [truncated_by_chance(decimals, queries) for decimals in cells["decimals"][missed]]
    average = float(np.mean(shares)) if shares else 0.0
    explained = stats.binom.sf(truncated.sum() - 1, len(shares), average) if shares else 1.0
    rare = stats.binom.cdf(missed.sum(), len(cells), expected(cells, queries)) < _SURE
    return Reading(missed, truncated, bool(rare), float(sum(shares)), float(explained))


def misses(cell: pd.Series, queries: int) -> bool:
    """Whether no whole number of queries rounds to a printed percentage."""
    nearest = nearest_share(cell["number"], queries)
    return verdict(cell["number"], nearest, cell["decimals"]) != EQUAL


def is_truncated(cell: pd.Series, queries: int) -> bool:
    """Whether a printed percentage is a share of queries whose further digits were cut off."""
    above = Fraction(100 * math.ceil(Fraction(cell["value"]) * queries / 100), queries)
    relation = verdict(cell["number"], float(above), cell["decimals"])
    return relation == TRUNCATED or above == Fraction(cell["value"])


def nearest_share(number: float, queries: int) -> float:
    """The percentage of a whole number of queries that is nearest to a number."""
    return 100 * round(number / 100 * queries) / queries


@cache
def chance(decimals: int, queries: int) -> float:
    """Share of all percentages with this many decimals that miss."""
    numbers, rounded, _ = _printable(decimals, queries)
    return 1 - len(rounded) / numbers


@cache
def truncated_by_chance(decimals: int, queries: int) -> float:
    """Share of all percentages that miss that are a share whose further digits were cut off."""
    numbers, rounded, cut = _printable(decimals, queries)
    missing = numbers - len(rounded)
    return len(cut - rounded) / missing if missing else 0.0


def _printable(decimals: int, queries: int) -> tuple[int, set[int], set[int]]:
    """How many percentages there are, and which ones, in last digits, shares give when they are
    rounded and when they are cut off."""
    unit = 10.0**-decimals
    shares = [100 * m / queries / unit for m in range(queries + 1)]
    # A share halfway between two printable numbers may be rounded to either.
    rounded = {math.floor(share + 0.5) for share in shares}
    rounded |= {math.ceil(share - 0.5) for share in shares}
    cut = {100 * 10**decimals * m // queries for m in range(queries + 1)}
    return round(100 / unit) + 1, rounded, cut


def expected(cells: pd.DataFrame, queries: int) -> float:
    """Expected share of misses if the cells' last digits were random."""
    return sum(chance(decimals, queries) for decimals in cells["decimals"]) / len(cells)


def _tables(document: Document) -> Iterator[tuple[Counts, pd.DataFrame]]:
    for counts in document.metadata.counts:
        cells = select(document.cells, counts.where, counts.but)
        for _, table in cells.groupby("table", sort=False):
            yield counts, table


def _explanation(reading: Reading, cells: pd.DataFrame, queries: int) -> str:
    missed, cut = int(reading.missed.sum()), int(reading.truncated.sum())
    shown = "so it is not shown" if reading.truncation >= _SURE else "so it is the likely cause"
    return (
        f"No number of {queries:,} queries rounds to {missed} of {len(cells)} cells of the table, "
        f"of which the others are shares. Digits that were cut off explain {cut} of the {missed}, "
        f"and would explain {reading.by_chance:.0f} of as many random numbers, {shown}."
    )


def _says(cells: pd.DataFrame, reading: Reading, counts: Counts) -> str:
    if not expected(cells, counts.queries):
        return "nothing: every such percentage is a share"
    if len(cells) < _ENOUGH_CELLS:
        return "too few cells to say"
    if not reading.are_shares:
        return "about as many as by chance: " + (
            "nothing shows that they are shares of these queries"
            if counts.runs == 1
            else "no shares of one run's queries, as means are"
        )
    return "shares of these queries" + (", but for the misses" if reading.missed.any() else "")

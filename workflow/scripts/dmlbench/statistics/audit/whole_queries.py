"""A percentage of N queries is 100 m / N for a whole number m.

With few queries or many decimals, no m rounds to some percentages. A cell with one of them misses.
Numbers that have nothing to do with N queries, such as means over runs, miss as often as random
ones. So misses are findings only where they are much rarer than among random numbers.
"""

import math
from collections.abc import Iterator
from functools import cache

import pandas as pd
from scipy import stats

from dmlbench.statistics.audit.check import LIKELY, NOTE, Check, check_of, place
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.metadata import Counts
from dmlbench.statistics.audit.rounding import EQUAL, verdict
from dmlbench.statistics.audit.selection import select

TITLE = "A percentage of N queries is a whole number of them"
KIND = "no count of queries"
KIND_OF_ALL = "no counts at all"

_SURE_OF_COUNTS = 0.01
_ENOUGH_CELLS = 8


def check(document: Document) -> Iterator[Check]:
    """One check per cell that is of a single run and could miss.

    If misses are about as frequent as by chance, no cell is a finding, but all together are one.
    """
    for counts in document.metadata.counts:
        cells = select(document.cells, counts.where, counts.but)
        if counts.runs != 1 or not len(cells):
            continue
        missed = [misses(cell, counts.queries) for _, cell in cells.iterrows()]
        are_counts = by_chance(cells, missed, counts.queries) < _SURE_OF_COUNTS
        for (_, cell), miss in zip(cells.iterrows(), missed, strict=True):
            if not chance(cell["decimals"], counts.queries):
                continue
            nearest = nearest_share(cell["number"], counts.queries)
            one = check_of(cell, f"{nearest:.{cell['decimals'] + 2}f}")
            if miss and are_counts:
                one = one.found(
                    KIND,
                    LIKELY,
                    f"No number of {counts.queries:,} queries rounds to it; assumes that all of "
                    "them were scored and that it is rounded to the nearest.",
                )
            yield one
        if not are_counts and sum(missed) and len(cells) >= _ENOUGH_CELLS:
            yield Check(
                table=", ".join(place(table) for table in cells["table"].unique()),
                printed=f"{sum(missed)} of {len(cells)} miss",
                recomputed=f"{100 * expected(cells, counts.queries):.0f} % by chance",
            ).found(
                KIND_OF_ALL,
                NOTE,
                f"About as many miss as chance gives, so nothing shows that these are shares of "
                f"{counts.queries:,} queries.",
            )


def remarks(document: Document) -> list[str]:
    """Lines of Markdown: how many cells miss, and how many would by chance."""
    lines = [
        "A cell misses if no whole number of N queries rounds to it. Numbers that have nothing to "
        "do with N queries, such as means over several runs, miss as often as random numbers with "
        "the same decimals. So where misses are much rarer than by chance, the cells are shares of "
        "N queries and each miss is a finding; where they are about as frequent, the cells are "
        "not.",
        "",
        "| table | queries | mean of runs | cells | misses | by chance | what it says |",
        "|:--|--:|--:|--:|--:|--:|:--|",
    ]
    for counts in document.metadata.counts:
        cells = select(document.cells, counts.where, counts.but)
        for table, group in cells.groupby("table", sort=False):
            missed = [misses(cell, counts.queries) for _, cell in group.iterrows()]
            runs = "?" if counts.runs is None else f"{counts.runs}"
            lines.append(
                f"| {place(table)} | {counts.queries:,} | {runs} | {len(group)} "
                f"| {sum(missed)} ({100 * sum(missed) / len(group):.0f} %) "
                f"| {100 * expected(group, counts.queries):.0f} % "
                f"| {_reading(group, missed, counts)} |"
            )
    return lines


def misses(cell: pd.Series, queries: int) -> bool:
    """Whether no whole number of queries rounds to a printed percentage."""
    nearest = nearest_share(cell["number"], queries)
    return verdict(cell["number"], nearest, cell["decimals"]) != EQUAL


def nearest_share(number: float, queries: int) -> float:
    """The percentage of a whole number of queries that is nearest to a number."""
    return 100 * round(number / 100 * queries) / queries


@cache
def chance(decimals: int, queries: int) -> float:
    """Share of all percentages with this many decimals that miss."""
    unit = 10.0**-decimals
    numbers = round(100 / unit) + 1
    met = {math.floor(100 * m / queries / unit + 0.5) for m in range(queries + 1)}
    # A share halfway between two printable numbers may be rounded to either.
    met |= {math.ceil(100 * m / queries / unit - 0.5) for m in range(queries + 1)}
    return 1 - len(met) / numbers


def expected(cells: pd.DataFrame, queries: int) -> float:
    """Expected share of misses if the cells' last digits were random."""
    return sum(chance(decimals, queries) for decimals in cells["decimals"]) / len(cells)


def by_chance(cells: pd.DataFrame, missed: list[bool], queries: int) -> float:
    """Probability of at most this many misses if the cells' last digits were random."""
    return float(stats.binom.cdf(sum(missed), len(cells), expected(cells, queries)))


def _reading(cells: pd.DataFrame, missed: list[bool], counts: Counts) -> str:
    if not expected(cells, counts.queries):
        return "nothing: every such percentage is a share"
    if len(cells) < _ENOUGH_CELLS:
        return "too few cells to say"
    if by_chance(cells, missed, counts.queries) >= _SURE_OF_COUNTS:
        return "about as many as by chance: " + (
            "nothing shows that they are shares of these queries"
            if counts.runs == 1
            else "no shares of one run's queries, as means are"
        )
    return "shares of these queries" + (", but for the misses" if sum(missed) else "")

"""A share of N queries is m/N for a whole number m.

Where 100/N is larger than the last printed digit, some percentages cannot occur. A number that is
not a share of those queries equals a possible one only by chance: the audit says how often.
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
    """One check per cell of one run that could miss; a single one if misses look like chance."""
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
        "A percentage with d decimals that has nothing to do with N queries still meets one of "
        "their shares by luck. So the share of misses is compared with the share among all "
        "numbers with d decimals: far below it, the cells are shares of N queries and each miss "
        "is a finding; near it, the printed numbers are no shares of N queries at all (means of "
        "several runs are none of one).",
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
    """Share of the percentages with so many decimals that no number of queries rounds to."""
    unit = 10.0**-decimals
    numbers = round(100 / unit) + 1
    met = {math.floor(100 * m / queries / unit + 0.5) for m in range(queries + 1)}
    # A share halfway between two printable numbers may be rounded to either.
    met |= {math.ceil(100 * m / queries / unit - 0.5) for m in range(queries + 1)}
    return 1 - len(met) / numbers


def expected(cells: pd.DataFrame, queries: int) -> float:
    """Share of cells that would miss if their last digits were drawn at random."""
    return sum(chance(decimals, queries) for decimals in cells["decimals"]) / len(cells)


def by_chance(cells: pd.DataFrame, missed: list[bool], queries: int) -> float:
    """Probability of as few misses or fewer if their last digits were drawn at random."""
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

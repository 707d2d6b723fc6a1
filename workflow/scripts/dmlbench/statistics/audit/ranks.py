"""A printed table of ranks follows from the tables that it ranks."""

from collections.abc import Iterator

from dmlbench.evaluation.names import quantity
from dmlbench.statistics.audit.check import CERTAIN, Check, check_of
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.metadata import Ranks
from dmlbench.statistics.audit.rounding import DIFFERS, EQUAL, verdict
from dmlbench.statistics.audit.selection import select

TITLE = "Ranks follow from the tables that are ranked"
KIND = "rank does not add up"


def check(document: Document) -> Iterator[Check]:
    """One check per printed cell."""
    for ranks in document.metadata.ranks:
        yield from _table(document, ranks)


def _table(document: Document, ranks: Ranks) -> Iterator[Check]:
    printed = select(document.cells, {"table": [ranks.table]})
    over = select(document.cells, ranks.over)
    over = over[over["method"].isin(printed["method"])]
    rising = quantity(over["metric"].iloc[0]).better == "lower"
    places = over.groupby(ranks.experiments)["number"].rank(ascending=rising)
    by_method = places.groupby(over["method"])
    for metric, statistic in ranks.columns.items():
        cells = printed[printed["metric"] == metric]
        # Such a table omits trailing zeros: a column's precision is that of its longest cell.
        digits = int(cells["decimals"].max())
        values = by_method.agg(statistic)
        for _, cell in cells.iterrows():
            value = values[cell["method"]]
            one = check_of(cell, f"{value:.{digits + 2 if digits else 0}f}")
            found = verdict(cell["number"], value, digits)
            if found != EQUAL:
                size = "" if found == DIFFERS else f" (the last digit is {found})"
                one = one.found(
                    KIND, CERTAIN, f"It is not the {statistic} of this method's ranks{size}."
                )
            yield one

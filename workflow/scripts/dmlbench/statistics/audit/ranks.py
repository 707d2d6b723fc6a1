"""A printed table of ranks follows from the tables that it ranks."""

import math
from collections.abc import Iterator

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.statistics.audit.check import CERTAIN, LIKELY, NOTE, Check, check_of, select
from dmlbench.statistics.audit.document import Document, Ranks
from dmlbench.statistics.audit.rounding import DIFFERS, EQUAL, TRUNCATED, verdict

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
        relations = {
            name: verdict(cell["number"], values[cell["method"]], digits)
            for name, cell in cells.iterrows()
        }
        for name, cell in cells.iterrows():
            one = check_of(cell, f"{values[cell['method']]:.{digits + 2 if digits else 0}f}")
            if relations[name] == EQUAL:
                yield one
                continue
            rounded = cells.loc[[other for other in cells.index if relations[other] == EQUAL]]
            yield _found(one, relations[name], statistic, rounded, values)


def _found(
    one: Check, relation: str, statistic: str, rounded: pd.DataFrame, values: pd.Series
) -> Check:
    """A rank that is not the nearest number; cutting off must fit the rest of its column."""
    if relation == DIFFERS:
        return one.found(KIND, CERTAIN, f"It is not the {statistic} of this method's ranks.")
    to_whole = math.floor if relation == TRUNCATED else math.ceil
    against = sum(
        to_whole(round(values[cell["method"]] * 10.0 ** cell["decimals"], 6))
        != round(cell["number"] * 10.0 ** cell["decimals"])
        for _, cell in rounded.iterrows()
    )
    return one.found(
        KIND,
        LIKELY if against else NOTE,
        f"It is the {statistic} of this method's ranks with the last digit {relation}; assumes "
        f"that numbers are rounded to the nearest, which {against} others of the column show.",
    )

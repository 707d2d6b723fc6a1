"""Numbers that follow from other cells: means, ranks, and which of them is the best."""

import math
from collections.abc import Iterator

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.statistics.audit.check import (
    CERTAIN,
    LIKELY,
    MARK,
    NOTE,
    Check,
    check_of,
    place,
    rule,
    select,
)
from dmlbench.statistics.audit.document import Bold, Document, Ranks
from dmlbench.statistics.audit.rounding import DIFFERS, EQUAL, TRUNCATED, verdict
from dmlbench.statistics.printed import decimals


@rule("Ranks follow from the tables that are ranked", kind="rank does not add up")
def ranks(document: Document) -> Iterator[Check]:
    """One check per printed cell."""
    for table in document.metadata.ranks:
        yield from _ranked(document, table)


def _ranked(document: Document, ranks: Ranks) -> Iterator[Check]:
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
            yield _rank_found(one, relations[name], statistic, rounded, values)


def _rank_found(
    one: Check, relation: str, statistic: str, rounded: pd.DataFrame, values: pd.Series
) -> Check:
    """A rank that is not the nearest number; cutting off must fit the rest of its column."""
    if relation == DIFFERS:
        return one.found(CERTAIN, f"It is not the {statistic} of this method's ranks.")
    to_whole = math.floor if relation == TRUNCATED else math.ceil
    against = sum(
        to_whole(round(values[cell["method"]] * 10.0 ** cell["decimals"], 6))
        != round(cell["number"] * 10.0 ** cell["decimals"])
        for _, cell in rounded.iterrows()
    )
    return one.found(
        LIKELY if against else NOTE,
        f"It is the {statistic} of this method's ranks with the last digit {relation}; assumes "
        f"that numbers are rounded to the nearest, which {against} others of the column show.",
    )


@rule("Means and deviations follow from the cells that they summarize", kind="mean does not add up")
def means(document: Document) -> Iterator[Check]:
    """One check per mean, and one per printed deviation (n - 1)."""
    for mean in document.metadata.means:
        over = select(document.cells, mean.over)["number"]
        tables = ", ".join(place(table) for table in mean.over.get("table", []))
        for _, cell in select(document.cells, mean.where).iterrows():
            yield _mean(check_of(cell), cell["value"], over.mean(), f"the mean of table {tables}")
            if cell["std"]:
                deviation = check_of(cell)._replace(metric=f"{cell['metric']} (deviation)")
                yield _mean(
                    deviation, cell["std"], over.std(ddof=1), f"the deviation of table {tables}"
                )


def _mean(one: Check, printed: str, recomputed: float, what: str) -> Check:
    digits = decimals(printed)
    one = one._replace(printed=printed, recomputed=f"{recomputed:.{digits + 2}f}")
    relation = verdict(float(printed), recomputed, digits)
    if relation == EQUAL:
        return one
    return one.found(CERTAIN, f"It is not {what}: {relation}.")


_FLAG = "bold in source"


@rule("Bold marks the best cell", kind="bold on the wrong cell")
def bold(document: Document) -> Iterator[Check]:
    """One check per bold cell. Other cells say nothing: a transcription may have lost bold."""
    for marked in document.metadata.bold:
        cells = select(document.cells, marked.where)
        for _, column in cells.groupby(marked.within, sort=False):
            flagged = column["note"].str.contains(_FLAG, regex=False)
            for _, cell in column[flagged].iterrows():
                yield _bold_cell(cell, column, marked)


def _bold_cell(cell: pd.Series, column: pd.DataFrame, bold: Bold) -> Check:
    pools = [column]
    if bold.or_without:
        pools.append(column[~column["variant"].str.contains(bold.or_without, regex=False)])
    best = column.loc[column["number"].idxmax()]
    one = check_of(cell, best["value"])
    if any(cell["number"] == pool["number"].max() for pool in pools):
        return one._replace(recomputed=cell["value"])
    name = " ".join(filter(None, [best["method"], best["variant"]]))
    return one.found(CERTAIN, f"{name} is higher.", blames=MARK)

"""Bounds of a metric that follow from its definition and from the other metrics of its run."""

from collections.abc import Iterator

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.statistics.audit.check import (
    CERTAIN,
    FORMULA,
    NUMBER,
    ROW,
    Check,
    check_of,
    rule,
    select,
)
from dmlbench.statistics.audit.document import Bound, Document


@rule("Metrics stay within the bounds that they set each other", kind="out of bounds")
def bounds(document: Document) -> Iterator[Check]:
    """One check per cell and bound; a bound of the metadata is one check per table."""
    percent = [quantity(metric).percent for metric in document.cells["metric"]]
    percentages = document.cells[percent]
    for _, row in percentages.groupby(ROW, sort=False):
        cells = {cell["metric"]: cell for _, cell in row.iterrows()}
        for metric, cell in cells.items():
            for low, high, why in _bounds(metric, cells):
                yield _checked(cell, low, high, why)
    for bound in document.metadata.bounds:
        chosen = select(document.cells, bound.where)
        for _, group in chosen.groupby(["table", "panel", "dataset", "metric"], sort=False):
            yield _defined(group, bound)


def _bounds(metric: str, cells: dict[str, pd.Series]) -> Iterator[tuple[float, float, str]]:
    """Bounds of one cell that follow from the other cells of its row."""
    yield 0.0, 100.0, "a percentage lies between 0 and 100"
    if metric == "map_at_r" and "r_precision" in cells:
        yield (
            0.0,
            _most(cells["r_precision"]),
            "MAP@R counts a part of the hits that R-precision counts",
        )
    if not metric.startswith("precision_at_"):
        return
    k = int(metric.rpartition("_")[2])
    if (recall := cells.get(f"recall_at_{k}")) is not None:
        yield (
            _least(recall) / k,
            _most(recall),
            f"of the queries that R@{k} counts, between 1 and {k} neighbors are right",
        )
    for j in range(1, k):
        fewer = cells.get(f"precision_at_{j}", cells.get("recall_at_1") if j == 1 else None)
        if fewer is not None:
            yield (
                j * _least(fewer) / k,
                (j * _most(fewer) + 100 * (k - j)) / k,
                f"the {k} nearest include the {j} nearest",
            )


def _most(cell: pd.Series) -> float:
    return cell["number"] + 0.5 * 10.0 ** -cell["decimals"]


def _least(cell: pd.Series) -> float:
    return cell["number"] - 0.5 * 10.0 ** -cell["decimals"]


def _checked(cell: pd.Series, low: float, high: float, why: str) -> Check:
    one = check_of(cell, f"{low:.2f} to {high:.2f}")
    slack = 0.5 * 10.0 ** -cell["decimals"] + 1e-9
    if low - slack <= cell["number"] <= high + slack:
        return one
    return one.found(CERTAIN, f"It cannot be, as {why}.")


def _defined(cells: pd.DataFrame, bound: Bound) -> Check:
    """All cells of one column against a bound that the metadata gives."""
    low, high = cells["number"].min(), cells["number"].max()
    several = len(cells) > 1
    wanted = [
        *([f"at least {bound.at_least:g}"] if bound.at_least is not None else []),
        *([f"at most {bound.at_most:g}"] if bound.at_most is not None else []),
    ]
    one = check_of(cells.iloc[0], " and ".join(wanted))
    if several:
        one = one._replace(
            method=f"{cells['method'].nunique()} methods",
            variant="",
            printed=f"{low:g} to {high:g}",
        )
    outside = cells["number"].gt(bound.at_most if bound.at_most is not None else high)
    outside |= cells["number"].lt(bound.at_least if bound.at_least is not None else low)
    if not outside.any():
        return one
    line = f" (line {bound.line})" if bound.line else ""
    count = f"{outside.sum()} of {len(cells)} cells: " if several else ""
    return one.found(
        bound.sure,
        f"{count}{bound.why}{line}.",
        blames=FORMULA if bound.formula else NUMBER,
        cause=bound.formula or bound.id,
    )

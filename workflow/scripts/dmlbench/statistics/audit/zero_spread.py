"""Several runs do not score alike to the last digit."""

from collections.abc import Iterator

import pandas as pd

from dmlbench.statistics.audit.check import LIKELY, NOTE, ROW, Check, check_of
from dmlbench.statistics.audit.document import Document

TITLE = "A mean of several runs has a spread"
KIND = "no spread"


def check(document: Document) -> Iterator[Check]:
    """One check per row that prints spreads."""
    spread = document.cells[document.cells["std"] != ""]
    for _, cells in spread.groupby(ROW, sort=False):
        yield _row(cells)


def _row(cells: pd.DataFrame) -> Check:
    zero = cells[cells["std"].astype(float) == 0]
    shown = zero if len(zero) else cells
    one = check_of(cells.iloc[0])._replace(
        metric=", ".join(shown["metric"]),
        printed="/".join(f"{cell.value}±{cell.std}" for cell in shown.itertuples()),
        recomputed="more than 0",
    )
    if not len(zero):
        return one
    if len(zero) == len(cells) > 1:
        return one.found(
            KIND,
            LIKELY,
            "All of its spreads are 0: a single run, assuming that the random seeds do anything.",
        )
    return one.found(
        KIND, NOTE, "A spread of 0 next to others of the row that are not: perhaps misprinted."
    )

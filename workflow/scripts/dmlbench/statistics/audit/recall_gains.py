"""Once most queries have found their class, each doubling of k adds fewer new hits."""

from collections.abc import Iterator

from dmlbench.statistics.audit.check import NOTE, Check, check_of
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.selection import ROW

TITLE = "R@k gains less from k = 4 to 8 than from 2 to 4 (where R@2 is 75 % or more)"
KIND = "unusual gain"

_MOSTLY_FOUND = 75.0


def check(document: Document) -> Iterator[Check]:
    """One check per series of R@2, R@4 and R@8 that starts high and does not fall."""
    recalls = document.cells[document.cells["k"].isin([2, 4, 8])]
    for _, series in recalls.groupby(ROW, sort=False):
        series = series.sort_values("k")
        gains = series["number"].diff().iloc[1:]
        if len(series) < 3 or series["number"].iloc[0] < _MOSTLY_FOUND or (gains < 0).any():
            continue
        whole = check_of(series.iloc[0])._replace(
            metric="R@2/4/8",
            printed="/".join(series["value"]),
            recomputed="gains " + "/".join(f"{gain:.2f}" for gain in gains),
        )
        if gains.iloc[1] > gains.iloc[0]:
            whole = whole.found(
                KIND,
                NOTE,
                "Not impossible, but recall curves flatten: R@8 gains more over R@4 than R@4 over "
                "R@2.",
            )
        yield whole

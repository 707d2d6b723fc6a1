"""An optimum that a search found is one of the values that it tried."""

import math
from collections.abc import Iterator

from dmlbench.statistics.audit.check import LIKELY, Check, place
from dmlbench.statistics.audit.document import Document

TITLE = "A search's optimum is on its grid"
KIND = "off the grid"


def check(document: Document) -> Iterator[Check]:
    """One check per printed search with a range, a step and an optimum."""
    for row in document.searches.itertuples():
        low, high = (float(end) for end in row.range.strip("[]()").split(","))
        step, optimum = float(row.step), float(row.optimal_value)
        one = Check(
            table=place(row.table),
            method=row.method,
            metric=row.hyperparameter,
            printed=row.optimal_value,
            recomputed=f"{row.range} in steps of {row.step}",
        )
        steps = (optimum - low) / step
        inside = low - 1e-9 <= optimum <= high + 1e-9
        if not inside or not math.isclose(steps, round(steps), abs_tol=1e-6):
            one = one.found(
                KIND,
                LIKELY,
                "No whole number of steps leads to it; assumes that the steps start at the end "
                "of the printed range.",
            )
        yield one

"""A printed mean and deviation follow from the cells that they summarize."""

from collections.abc import Iterator

from dmlbench.statistics.audit.check import CERTAIN, Check, check_of, place, select
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.rounding import EQUAL, verdict
from dmlbench.statistics.printed import decimals

TITLE = "Means and deviations follow from the cells that they summarize"
KIND = "mean does not add up"


def check(document: Document) -> Iterator[Check]:
    """One check per mean, and one per printed deviation (n - 1)."""
    for mean in document.metadata.means:
        over = select(document.cells, mean.over)["number"]
        tables = ", ".join(place(table) for table in mean.over.get("table", []))
        for _, cell in select(document.cells, mean.where).iterrows():
            yield _one(check_of(cell), cell["value"], over.mean(), f"the mean of table {tables}")
            if cell["std"]:
                deviation = check_of(cell)._replace(metric=f"{cell['metric']} (deviation)")
                yield _one(
                    deviation, cell["std"], over.std(ddof=1), f"the deviation of table {tables}"
                )


def _one(one: Check, printed: str, recomputed: float, what: str) -> Check:
    digits = decimals(printed)
    one = one._replace(printed=printed, recomputed=f"{recomputed:.{digits + 2}f}")
    relation = verdict(float(printed), recomputed, digits)
    if relation == EQUAL:
        return one
    return one.found(KIND, CERTAIN, f"It is not {what}: {relation}.")

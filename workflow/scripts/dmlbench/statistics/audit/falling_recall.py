"""R@k does not fall with k: k neighbors include the k - 1 nearer ones."""

from collections.abc import Iterator

from dmlbench.statistics.audit.check import CERTAIN, ROW, Check, check_of
from dmlbench.statistics.audit.document import Document

TITLE = "R@k does not fall with k"
KIND = "recall falls"


def check(document: Document) -> Iterator[Check]:
    """One check per printed series of two or more recalls."""
    recalls = document.cells.dropna(subset=["k"])
    for _, series in recalls.groupby(ROW, sort=False):
        if len(series) < 2:
            continue
        series = series.sort_values("k")
        ks = [f"{k:.0f}" for k in series["k"]]
        whole = check_of(series.iloc[0])._replace(
            metric="R@" + "/".join(ks), printed="/".join(series["value"])
        )
        falls = [place for place, step in enumerate(series["number"].diff()) if step < 0]
        if falls:
            k, below = ks[falls[0]], ks[falls[0] - 1]
            whole = whole.found(
                KIND, CERTAIN, f"R@{k} is lower than R@{below}; one of the two is misprinted."
            )._replace(recomputed=f"R@{k} >= {series['value'].iloc[falls[0] - 1]}")
        yield whole

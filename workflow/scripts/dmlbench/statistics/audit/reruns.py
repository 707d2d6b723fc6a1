"""Two tables of means over runs of one protocol differ only by chance."""

from collections.abc import Iterator

import pandas as pd
from scipy import stats

from dmlbench.statistics.audit.check import LIKELY, Check, check_of, place
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.metadata import Rerun
from dmlbench.statistics.audit.selection import select

TITLE = "Means over runs of one protocol agree within their spread"
KIND = "reruns differ"

_IMPLAUSIBLE = 1e-4


def check(document: Document) -> Iterator[Check]:
    """One check per row: Welch's test of each of its cells, Bonferroni over the row."""
    for rerun in document.metadata.reruns:
        spread = document.cells[document.cells["std"] != ""]
        of = select(spread, rerun.of)
        keys = of[rerun.match].itertuples(index=False, name=None)
        sources = {key: source for key, (_, source) in zip(keys, of.iterrows(), strict=True)}
        row = [coordinate for coordinate in rerun.match if coordinate != "metric"]
        for _, cells in select(spread, rerun.where).groupby(["table", *row], sort=False):
            found = [(cell, sources.get(tuple(cell[rerun.match]))) for _, cell in cells.iterrows()]
            if pairs := [(cell, source) for cell, source in found if source is not None]:
                yield _row(pairs, rerun)


def _row(pairs: list[tuple[pd.Series, pd.Series]], rerun: Rerun) -> Check:
    first, other = pairs[0]
    apart = [
        (cell, source)
        for cell, source in pairs
        if _probability(cell, source, rerun.runs) * len(pairs) < _IMPLAUSIBLE
    ]
    shown = apart or pairs
    one = check_of(first)._replace(
        metric=", ".join(cell["metric"] for cell, _ in shown),
        printed="/".join(f"{cell['value']}±{cell['std']}" for cell, _ in shown),
        recomputed="/".join(f"{source['value']}±{source['std']}" for _, source in shown),
    )
    if not apart:
        return one
    return one.found(
        KIND,
        LIKELY,
        f"Table {place(other['table'])} prints other means for the same setting, further apart "
        f"than {rerun.runs} runs each allow; assumes one protocol for both tables.",
    )


def _probability(cell: pd.Series, source: pd.Series, runs: int) -> float:
    """Two-sided p of Welch's test; spreads are printed rounded, so at least half a last digit."""
    spreads = [max(float(each["std"]), 0.5 * 10.0 ** -each["decimals"]) for each in (cell, source)]
    test = stats.ttest_ind_from_stats(
        cell["number"], spreads[0], runs, source["number"], spreads[1], runs, equal_var=False
    )
    return float(test.pvalue)

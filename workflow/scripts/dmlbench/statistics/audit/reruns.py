"""Two tables of means over runs of one protocol differ only by chance."""

from collections.abc import Iterator

import pandas as pd
from scipy import stats

from dmlbench.statistics.audit.check import LIKELY, ROW, Check, check_of, place, select
from dmlbench.statistics.audit.document import Document, Rerun
from dmlbench.statistics.paired import holm

TITLE = "Means over runs of one protocol agree within their spread"
KIND = "reruns differ"

_IMPLAUSIBLE = 0.01


def check(document: Document) -> Iterator[Check]:
    """One check per row: Welch's test of each of its cells, by Holm over the whole document."""
    pairs = [pair for rerun in document.metadata.reruns for pair in _pairs(document, rerun)]
    chances = holm(pd.Series([_probability(*pair) for pair in pairs], dtype=float))
    rows: dict[tuple, list] = {}
    for (cell, source, runs), p in zip(pairs, chances, strict=True):
        key = (cell["table"], *(cell[each] for each in ROW), source["table"])
        rows.setdefault(key, []).append((cell, source, runs, p))
    for row in rows.values():
        yield _row(row)


def _pairs(document: Document, rerun: Rerun) -> Iterator[tuple[pd.Series, pd.Series, int]]:
    """Cells and those that they repeat."""
    spread = document.cells[document.cells["std"] != ""]
    of = select(spread, rerun.of)
    keys = of[rerun.match].itertuples(index=False, name=None)
    sources = {key: source for key, (_, source) in zip(keys, of.iterrows(), strict=True)}
    for _, cell in select(spread, rerun.where).iterrows():
        source = sources.get(tuple(cell[rerun.match]))
        if source is not None:
            yield cell, source, rerun.runs


def _row(row: list[tuple[pd.Series, pd.Series, int, float]]) -> Check:
    first, other, runs, _ = row[0]
    apart = [pair for pair in row if pair[-1] < _IMPLAUSIBLE]
    shown = apart or row
    one = check_of(first)._replace(
        metric=", ".join(cell["metric"] for cell, *_ in shown),
        printed="/".join(f"{cell['value']}±{cell['std']}" for cell, *_ in shown),
        recomputed="/".join(f"{source['value']}±{source['std']}" for _, source, *_ in shown),
    )
    if not apart:
        return one
    return one.found(
        KIND,
        LIKELY,
        f"Table {place(other['table'])} prints other means for the same setting, further apart "
        f"than {runs} runs each allow (p < {_IMPLAUSIBLE:g} over all such cells); assumes one "
        "protocol for both tables.",
        cause=" ".join(filter(None, [first["method"], first["variant"]])),
    )


def _probability(cell: pd.Series, source: pd.Series, runs: int) -> float:
    """Two-sided p of Welch's test; spreads are printed rounded, so at least half a last digit."""
    spreads = [max(float(each["std"]), 0.5 * 10.0 ** -each["decimals"]) for each in (cell, source)]
    test = stats.ttest_ind_from_stats(
        cell["number"], spreads[0], runs, source["number"], spreads[1], runs, equal_var=False
    )
    return float(test.pvalue)

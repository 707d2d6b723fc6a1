"""What is printed twice: the same numbers, or means over other runs of one protocol."""

import re
from collections.abc import Iterator, Mapping

import pandas as pd
from scipy import stats

from dmlbench.plan.studies.mapping import CELL
from dmlbench.statistics.audit.check import (
    CERTAIN,
    LIKELY,
    ROW,
    Check,
    check_of,
    check_of_row,
    place,
    rule,
    select,
    with_spread,
)
from dmlbench.statistics.audit.document import Document, Repeat
from dmlbench.statistics.audit.rounding import same_number
from dmlbench.statistics.paired import holm

_SAME_RUN = list(CELL)
_ALIASES = {"precision_at_1": "recall_at_1"}
_EQUALS = re.compile(r"equals Table (?P<table>[\d.]+) (?P<method>\w+)(?: (?P<variant>[^\s;]+))?")


@rule("What two tables print of one run is the same", kind="tables differ")
def repeated(document: Document) -> Iterator[Check]:
    """One check per repeated cell; all cells of a row that differ are one finding."""
    pairs = [*_declared(document), *_noted(document), *_equal_coordinates(document)]
    rows: dict[tuple, list] = {}
    for cell, source, sure in pairs:
        agree = same_number(
            cell["number"], cell["decimals"], source["number"], source["decimals"]
        ) and not (cell["std"] and source["std"] and float(cell["std"]) != float(source["std"]))
        if agree:
            yield check_of(cell, source["value"])
        else:
            key = (cell["table"], cell["panel"], *cell[_SAME_RUN[:-1]], source["table"])
            rows.setdefault(key, []).append((cell, source, sure))
    for differing in rows.values():
        first, other, sure = differing[0]
        reason = (
            f"one of the two is misprinted{_elsewhere(document, first, other)}"
            if sure == CERTAIN
            else "assumes that equal settings name one run; two runs would explain it"
        )
        cells, sources, _ = zip(*differing, strict=True)
        yield check_of_row(cells, sources).found(
            sure,
            f"Table {place(other['table'], other['panel'])} prints the other number for the same "
            f"run: {reason}.",
            # Two tables of other runs differ in every row that they share.
            cause="" if sure == CERTAIN else f"{_name_of(first)} and {_name_of(other)}",
        )


def _name_of(cell: pd.Series) -> str:
    return f"table {place(cell['table'], cell['panel'])}"


def _elsewhere(document: Document, *cells: pd.Series) -> str:
    """Whether one of two differing numbers is in another column of the other's row."""
    for cell, other in (cells, cells[::-1]):
        row = {key: [other[key]] for key in ROW}
        columns = select(document.cells, row, {"metric": [cell["metric"]]})
        same = columns[columns["value"] == cell["value"]]["metric"]
        if len(same):
            return f" ({cell['value']} is the {same.iloc[0]} of table {place(other['table'])})"
    return ""


Pair = tuple[pd.Series, pd.Series, str]


def _declared(document: Document) -> Iterator[Pair]:
    """Cells of tables that repeat others according to the metadata."""
    for repeat in document.metadata.repeats:
        for cell, source in _pairs(document.cells, repeat):
            yield cell, source, CERTAIN


def _noted(document: Document) -> Iterator[Pair]:
    """Cells whose note names the row that they repeat."""
    noted = document.cells[document.cells["note"].str.contains("equals Table", regex=False)]
    if not len(noted):
        return
    sources = _by(document.cells, ["table", "method", "variant", "metric"])
    for _, cell in noted.iterrows():
        if named := _EQUALS.search(cell["note"]):
            variant = (named["variant"] or "").replace(",", ";")
            key = (_table(named["table"]), named["method"], variant, _name(cell["metric"]))
            if key in sources:
                yield cell, sources[key], CERTAIN


def _equal_coordinates(document: Document) -> Iterator[Pair]:
    """Cells of two tables that agree in everything that distinguishes runs."""
    whole = document.cells[~document.cells["table"].isin(document.metadata.abridged)]
    whole = whole[whole.duplicated(_SAME_RUN, keep=False)]
    for _, cells in whole.groupby(_SAME_RUN, sort=False):
        first = cells.iloc[0]
        for _, cell in cells.iloc[1:].iterrows():
            if cell["table"] != first["table"]:
                # Without its own settings the row cannot be of another run.
                yield cell, first, LIKELY if cell["variant"] else CERTAIN


def _pairs(cells: pd.DataFrame, repeat: Repeat) -> Iterator[tuple[pd.Series, pd.Series]]:
    """Cells and those that they repeat."""
    sources = _by(select(cells, repeat.of), repeat.match)
    for _, cell in select(cells, repeat.where).iterrows():
        key = tuple({**cell, "metric": _name(cell["metric"])}[name] for name in repeat.match)
        if key in sources:
            yield cell, sources[key]


def _by(cells: pd.DataFrame, match: list[str]) -> Mapping[tuple, pd.Series]:
    renamed = cells.assign(metric=cells["metric"].map(_name))
    keys = renamed[match].itertuples(index=False, name=None)
    return {key: cell for key, (_, cell) in zip(keys, cells.iterrows(), strict=True)}


def _name(metric: str) -> str:
    """The name that a metric has in most tables."""
    return _ALIASES.get(metric, metric)


def _table(number: str) -> str:
    """`4.2` -> `4_02`, as the transcriptions name it."""
    chapter, _, rest = number.partition(".")
    return f"{chapter}_{int(rest):02d}" if rest else f"{int(chapter):02d}"


_IMPLAUSIBLE = 0.01


@rule("Means over runs of one protocol agree within their spread", kind="reruns differ")
def reruns(document: Document) -> Iterator[Check]:
    """One check per row: Welch's test of each of its cells, by Holm over the whole document."""
    spread = document.cells[document.cells["std"] != ""]
    pairs = [
        (*pair, rerun.runs) for rerun in document.metadata.reruns for pair in _pairs(spread, rerun)
    ]
    chances = holm(pd.Series([_probability(*pair) for pair in pairs], dtype=float))
    rows: dict[tuple, list] = {}
    for (cell, source, runs), p in zip(pairs, chances, strict=True):
        key = (cell["table"], *(cell[each] for each in ROW), source["table"])
        rows.setdefault(key, []).append((cell, source, runs, p))
    for row in rows.values():
        yield _rerun_row(row)


def _rerun_row(row: list[tuple[pd.Series, pd.Series, int, float]]) -> Check:
    first, other, runs, _ = row[0]
    apart = [pair for pair in row if pair[-1] < _IMPLAUSIBLE]
    shown = apart or row
    cells, sources, *_ = zip(*shown, strict=True)
    one = check_of_row(cells, sources, with_spread)
    if not apart:
        return one
    return one.found(
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

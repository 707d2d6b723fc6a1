"""Bold marks the best cell."""

from collections.abc import Iterator

import pandas as pd

from dmlbench.statistics.audit.check import CERTAIN, MARK, Check, check_of, select
from dmlbench.statistics.audit.document import Bold, Document

TITLE = "Bold marks the best cell"
KIND = "bold on the wrong cell"

_FLAG = "bold in source"


def check(document: Document) -> Iterator[Check]:
    """One check per bold cell. Other cells say nothing: a transcription may have lost bold."""
    for bold in document.metadata.bold:
        cells = select(document.cells, bold.where)
        for _, column in cells.groupby(bold.within, sort=False):
            flagged = column["note"].str.contains(_FLAG, regex=False)
            for _, cell in column[flagged].iterrows():
                yield _cell(cell, column, bold)


def _cell(cell: pd.Series, column: pd.DataFrame, bold: Bold) -> Check:
    pools = [column]
    if bold.or_without:
        pools.append(column[~column["variant"].str.contains(bold.or_without, regex=False)])
    best = column.loc[column["number"].idxmax()]
    one = check_of(cell, best["value"])
    if any(cell["number"] == pool["number"].max() for pool in pools):
        return one._replace(recomputed=cell["value"])
    name = " ".join(filter(None, [best["method"], best["variant"]]))
    return one.found(KIND, CERTAIN, f"{name} is higher.", blames=MARK)

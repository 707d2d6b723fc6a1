"""Selecting cells of printed tables by coordinates."""

from collections.abc import Mapping

import pandas as pd

from dmlbench.plan.catalogs.rows import one_or_more
from dmlbench.plan.studies.mapping import COORDINATES, Coordinate

ROW = [coordinate for coordinate in COORDINATES if coordinate != "metric"]
"""The coordinates that the metrics of one printed row share."""

Where = dict[Coordinate, one_or_more(str)]
"""Coordinate -> its allowed values; coordinates that are not listed may have any value."""


def select(cells: pd.DataFrame, where: Mapping[str, list[str]], but=None) -> pd.DataFrame:
    """The cells whose coordinates have one of the values of `where`, and none of those of `but`."""
    chosen = pd.Series(True, index=cells.index)
    for coordinate, values in where.items():
        chosen &= cells[coordinate].isin(values)
    for coordinate, values in (but or {}).items():
        chosen &= ~cells[coordinate].isin(values)
    return cells[chosen]

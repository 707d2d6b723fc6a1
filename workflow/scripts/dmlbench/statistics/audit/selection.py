"""Selecting cells of printed tables by coordinates."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pandas as pd
from pydantic import BeforeValidator

from dmlbench.plan.mapping import CELL

COORDINATES = ("table", "panel", *CELL)

ROW = [coordinate for coordinate in COORDINATES if coordinate != "metric"]
"""The coordinates that the metrics of one printed row share."""

Coordinate = Literal[COORDINATES]
Values = Annotated[
    list[str], BeforeValidator(lambda given: given if isinstance(given, list) else [given])
]
Where = dict[Coordinate, Values]
"""Coordinate -> its allowed values; coordinates that are not listed may have any value."""


def select(cells: pd.DataFrame, where: Mapping[str, list[str]], but=None) -> pd.DataFrame:
    """The cells whose coordinates have one of the values of `where`, and none of those of `but`."""
    chosen = pd.Series(True, index=cells.index)
    for coordinate, values in where.items():
        chosen &= cells[coordinate].isin(values)
    for coordinate, values in (but or {}).items():
        chosen &= ~cells[coordinate].isin(values)
    return cells[chosen]

"""Selecting cells of printed tables by coordinates, and computing one number from them."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dmlbench.errors import UserError, unknown
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


class Term(BaseModel):
    """One number computed from printed cells.

    Attributes:
        where: the cells.
        but: coordinates -> excluded values.
        of: how several cells become one number; `only` allows exactly one cell, `cells` counts
            them, and a coordinate counts its different values.
        rank_within: take each cell's rank (1 is the largest) among the cells of the same table
            and metric that share these coordinates, instead of its value.
        share_of: take each cell as a percentage of the largest cell that shares these coordinates.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: Where = Field(default_factory=dict)
    but: Where = Field(default_factory=dict)
    of: Literal["only", "min", "max", "mean", "sum", "cells", *COORDINATES] = "only"
    rank_within: list[Coordinate] = []
    share_of: list[Coordinate] = []


def select(cells: pd.DataFrame, where: Mapping[str, list[str]], but=None) -> pd.DataFrame:
    """The cells whose coordinates have one of the values of `where`, and none of those of `but`."""
    chosen = pd.Series(True, index=cells.index)
    for coordinate, values in where.items():
        chosen &= cells[coordinate].isin(values)
    for coordinate, values in (but or {}).items():
        chosen &= ~cells[coordinate].isin(values)
    return cells[chosen]


def numbers_of(term: Term, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells of a term; `number` is what it uses of each: the value, a rank or a share."""
    chosen = select(cells, term.where, term.but)
    if term.rank_within:
        pool = select(cells, {key: term.where[key] for key in ("table", "metric")})
        ranks = pool.groupby(term.rank_within)["number"].rank(ascending=False)
        chosen = chosen.assign(number=ranks.loc[chosen.index])
    if term.share_of:
        pool = select(cells, {"table": term.where["table"]})
        largest = pool.groupby(term.share_of)["number"].transform("max")
        chosen = chosen.assign(number=100 * chosen["number"] / largest.loc[chosen.index])
    return chosen


def evaluate(term: Term, chosen: pd.DataFrame | None, where: str) -> float:
    """The number of a term.

    Args:
        chosen: its cells (`numbers_of`) or a part of them; None for no cells.
        where: the term's owner, for messages.

    Raises:
        UserError: no cell, or more than one if the term takes only one.
    """
    count = 0 if chosen is None else len(chosen)
    if term.of == "cells":
        return count
    if not count or (term.of == "only" and count > 1):
        wanted = "one" if term.of == "only" else "at least one"
        raise UserError(f"{where}: {count} cells at {term.where}; allowed: {wanted}")
    if term.of in COORDINATES:
        return chosen[term.of].nunique()
    if term.of == "only":
        return float(chosen["number"].iloc[0])
    return float(chosen["number"].agg(term.of))


def check_values(cells: pd.DataFrame, where: Mapping[str, list[str]], what: str) -> None:
    """Raise a UserError for a value that no cell has in that coordinate."""
    for coordinate, values in where.items():
        allowed = set(cells[coordinate])
        for value in values:
            if value not in allowed:
                raise unknown(f"{coordinate} in {what}", value, allowed)

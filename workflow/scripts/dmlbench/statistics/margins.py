"""How far a number may be from a printed one and still be called the same: margins.csv.

A margin is no smaller than the document's own noise allows, and no difference within it matters
among the methods of the column. A number that several methods come as near to says nothing about
the method: `nearest` is how near the next of them is. `benchmarks/margins.py` computes margins, and
they are read here.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.plan.studies.margins import Control, read_sources

COLUMN = [*EXPERIMENT, "role", "metric"]
"""The coordinates of a column: all printed numbers that one order of methods ranks."""

COLUMNS = [*COLUMN, "numbers", "spread", "noise", "error", "freedom", "margin", "source"]

CONFUSED = 0.05
"""The largest share of other methods' numbers that may be nearer than a margin."""

FILE = "margins.csv"


def read_margins(folder: str | os.PathLike) -> pd.DataFrame:
    """The margins of a folder of printed numbers: `COLUMNS`, one row per column.

    How many `numbers` a column has and their standard deviation, `spread`; the `noise` of one run,
    the standard `error` of a printed number, and their degrees of `freedom`; `margin`. All are in
    the unit of the metric; unknown values are missing. benchmarks/margins.py computes them.
    """
    texts = dict.fromkeys([*COLUMN, "source"], str) | {"embedding_dim": "Int64"}
    margins = pd.read_csv(Path(folder) / FILE, dtype=texts, keep_default_na=False, na_values="")
    empty = [column for column in texts if column != "embedding_dim"]
    return margins.assign(**{column: margins[column].fillna("") for column in empty})


def with_margins(placed: pd.DataFrame, folder: str | os.PathLike) -> pd.DataFrame:
    """Printed numbers with what a verdict on them is measured by.

    Args:
        placed: as `statistics.placement.place` gives it.
        folder: the folder of the printed numbers, with margins.yaml and margins.csv.

    Returns:
        The same rows with `noise`, `freedom` and `margin` of their column, `nearest`, and
        `printed_error`, the larger of the column's error and the number's own.
    """
    folder = Path(folder)
    columns = [*COLUMN, "noise", "error", "freedom", "margin"]
    of_column = read_margins(folder)[columns].rename(columns={"error": "of_column"})
    joined = placed.merge(of_column, how="left", on=COLUMN)
    joined.loc[joined["why"] != "", ["noise", "of_column", "freedom", "margin"]] = np.nan
    return joined.assign(
        nearest=nearest(placed, read_sources(folder).controls),
        printed_error=np.fmax(joined["of_column"], joined["error"]),
    )


def nearest(placed: pd.DataFrame, controls: Sequence[Control]) -> np.ndarray:
    """How near the numbers are that a printed number must not be mistaken for.

    These are the numbers of other methods in its column, of which one in twenty may be nearer; the
    mean of the column; and what the number would be without the effect that it claims.

    Args:
        placed: as `statistics.placement.place` gives it.
        controls: the numbers that claim an effect.

    Returns:
        The distance of each number, [N], in its unit; infinite where there is no other number.
    """
    distances = np.full(len(placed), np.inf)
    cells = placed.reset_index(drop=True)
    cells = cells[cells["why"] == ""]
    for _, column in cells.groupby(COLUMN, sort=False):
        own = column.drop_duplicates(["method", "variant"])
        apart = np.abs(column["number"].to_numpy()[:, None] - own["number"].to_numpy())
        other = column["method"].to_numpy()[:, None] != own["method"].to_numpy()
        of_others = np.sort(np.where(other, apart, np.inf))
        place = (CONFUSED * other.sum(axis=1)).astype(int)
        near = np.take_along_axis(of_others, place[:, None], axis=1)[:, 0]
        if len(own) > 1:
            near = np.minimum(near, np.abs(column["number"] - own["number"].mean()))
        effect = np.where(without_effect(column, own, controls), apart, np.inf).min(axis=1)
        distances[column.index] = np.minimum(near, effect)
    return distances


def without_effect(
    column: pd.DataFrame, own: pd.DataFrame, controls: Sequence[Control]
) -> np.ndarray:
    """Which of the column's own numbers are what each number would be without its effect."""
    variants = own["printed_variant"].to_numpy()
    methods = own["printed_method"].to_numpy()
    matches = np.zeros((len(column), len(own)), dtype=bool)
    for row, cell in enumerate(column.to_dict("records")):
        for control in controls:
            names = control.when.match(cell_of(cell))
            if names is not None:
                without = [text.format(**names) for text in control.without]
                matches[row] |= np.isin(variants, without) & (methods == cell["printed_method"])
    return matches


def cell_of(cell: dict) -> dict:
    """The columns of a placed cell that filters of printed cells look at."""
    return {
        "table": cell["table"].removeprefix("table_"),
        "method": cell["printed_method"],
        "variant": cell["printed_variant"],
        "dataset": cell["dataset"],
        "split": cell["role"],
        "metric": cell["metric"],
    }

"""How far a number may be from a printed one and still be called the same: margins.csv.

A margin is no smaller than the document's own noise allows, and no difference within it matters
among the methods of the column. A number that several methods come as near to says nothing about
the method: `nearest` is how near the next of them is.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dmlbench.files import atomic_write
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.plan.studies.margins import Control, read_sources
from dmlbench.statistics.equivalence import ALPHA
from dmlbench.statistics.noise import cell_of, noise_of
from dmlbench.statistics.placement import KEY, read_placed

COLUMN = [*EXPERIMENT, "role", "metric"]
"""The coordinates of a column: all printed numbers that one order of methods ranks."""

COLUMNS = [*COLUMN, "numbers", "spread", "noise", "error", "freedom", "margin", "source"]

SEEDS = 5
"""How many runs of ours show that a true number is the same, by the margin that noise allows."""

MATTERS = 0.2
"""The smallest difference that matters, in standard deviations between the numbers of a column.

Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988: a small effect.
"""

CONFUSED = 0.05
"""The largest share of other methods' numbers that may be nearer than a margin."""

_FILE = "margins.csv"


def margins_of(folder: Path) -> pd.DataFrame:
    """The margins of a document, from its printed numbers and margins.yaml.

    Returns:
        `COLUMNS`, one row per column, in the unit of the metric: how many `numbers` it has and
        their standard deviation, `spread`; the `noise` of one run, the standard `error` of a
        printed number, and their degrees of `freedom`; `margin`, the larger of a fifth of the
        spread and of what five runs need to show with 90 % probability that a true number is the
        same. Unknown values are missing.

    Raises:
        UserError: as `noise.noise_of`.
    """
    cells = read_placed(sorted(folder.glob("table_*.csv")))
    cells = cells[cells["why"] == ""].drop_duplicates(KEY)
    grouped = cells.groupby(COLUMN, sort=True)
    margins = grouped.agg(
        numbers=("number", "size"), spread=("number", "std"), runs=("runs", "median")
    ).reset_index()
    margins = margins.merge(noise_of(folder), how="left", on=["dataset", "metric"])
    runs = margins["runs"].replace(np.inf, read_sources(folder).noise.intervals_of or 1)
    margins["error"] = np.maximum(margins["noise"] / runs**0.5, margins["rerun"])
    total = np.sqrt(margins["noise"] ** 2 / SEEDS + margins["error"] ** 2)
    # One tail for the test, one for a true number to pass it in nine of ten cases.
    quantile = 2 * stdtrit(margins["freedom"].astype(float), 1 - ALPHA)
    margins["margin"] = np.fmax(quantile * total, MATTERS * margins["spread"])
    return margins[COLUMNS]


def write_margins(folder: str | os.PathLike) -> None:
    """Write the margins of a folder of printed numbers next to them."""
    folder = Path(folder)
    with atomic_write(folder / _FILE) as unfinished:
        margins_of(folder).to_csv(unfinished, index=False, float_format="%.4g")


def read_margins(folder: str | os.PathLike) -> pd.DataFrame:
    """The margins of a folder of printed numbers, as `margins_of` gives them."""
    texts = dict.fromkeys([*COLUMN, "source"], str) | {"embedding_dim": "Int64"}
    margins = pd.read_csv(Path(folder) / _FILE, dtype=texts, keep_default_na=False, na_values="")
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


if __name__ == "__main__":
    for each in sys.argv[1:]:
        write_margins(each)

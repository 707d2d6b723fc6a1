"""The queries that a run finds hardest, and those that it answers best."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from dmlbench.parquet import read_table

SHOWN = 5
"""Number of worst queries of a run that are shown, and of best ones."""

NEIGHBORS = "neighbors.parquet"
"""The table that `neighbors.write_neighbors` writes next to its sheets of pictures."""


def sheet_of(run: str) -> str:
    """The file name of a run's pictures in the folder of that table."""
    return f"{run.rpartition('-')[2]}.webp"


def extreme_queries(file: Path, rule: str) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The test queries of a run under a rule by column; rows of the worst, and of the best ones.

    The worst have the latest first hit; of equal ones, the lowest MAP@R. The best, best first, are
    the other end of this order, without queries that are among the worst.
    """
    asked = (pc.field("selection") == rule) & (pc.field("role") == "test")
    columns = ["image_id", "label", "first_rank", "map_at_r"]
    table = read_table(file, columns=columns, filters=asked)
    queries = {column: table[column].to_numpy() for column in columns}
    order = np.lexsort((queries["map_at_r"], -queries["first_rank"]))
    return queries, order[:SHOWN], order[SHOWN:][::-1][:SHOWN]

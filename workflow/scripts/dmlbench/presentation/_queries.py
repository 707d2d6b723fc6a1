"""The queries that a run finds hardest."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from dmlbench.parquet import read_table

WORST = 5
"""Number of queries of a run that are shown."""

NEIGHBORS = "neighbors.parquet"
"""The table that `neighbors.write_neighbors` writes next to its sheets of pictures."""


def worst_queries(file: Path, rule: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The test queries of a run under a rule, and the rows of the worst of them, worst first.

    The worst have the latest first hit; of equal ones, the lowest MAP@R.
    """
    asked = (pc.field("selection") == rule) & (pc.field("role") == "test")
    columns = ["image_id", "label", "first_rank", "map_at_r"]
    queries = read_table(file, columns=columns, filters=asked).to_pandas()
    order = np.lexsort((queries["map_at_r"], -queries["first_rank"]))
    return queries, order[:WORST]

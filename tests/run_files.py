"""A long table of scores as the rows and files that the pipeline makes it from."""

from pathlib import Path

import pandas as pd
from dmlbench.statistics.aggregation import ROW, SCORES


def run_files(scores: pd.DataFrame, folder: Path) -> tuple[list[dict], list[Path]]:
    """The columns of each row of a long table, and for each the file of its scores."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, files = [], []
    for columns, of_row in scores.groupby([*ROW, "run"], sort=False):
        rows.append(dict(zip([*ROW, "run"], columns, strict=True)))
        files.append(folder / f"{len(files)}.parquet")
        of_row[SCORES.names].to_parquet(files[-1], index=False)
    return rows, files

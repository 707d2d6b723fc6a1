"""A document: its printed tables, its printed settings, and metadata about both."""

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.statistics.audit.metadata import Metadata
from dmlbench.statistics.printed import read_printed


@dataclass(frozen=True)
class Document:
    """What the rules check.

    Attributes:
        study: its name.
        cells: one row per printed number, with the columns of `read_printed`; `table` is the
            number alone (`06`).
        metadata: see `metadata.Metadata`.
        searches: rows of printed searches: table, method, hyperparameter, range, step and
            optimal_value as printed.
    """

    study: str
    cells: pd.DataFrame
    metadata: Metadata
    searches: pd.DataFrame


def read_document(reference: str | os.PathLike) -> Document:
    """Read a study's folder of transcriptions and its `audit.yaml`.

    Raises:
        UserError: no printed table; the metadata is missing, or has a wrong key or value.
    """
    folder = Path(reference)
    tables = sorted(path.stem.removeprefix("table_") for path in folder.glob("table_*.csv"))
    if not tables:
        raise UserError(f"no printed table at {folder / 'table_*.csv'}; allowed: one or more")
    cells = read_printed(folder, tables)
    cells["table"] = cells["table"].str.removeprefix("table_")
    return Document(
        study=folder.name,
        cells=cells,
        metadata=read_yaml(folder / "audit.yaml", Metadata),
        searches=_searches(folder),
    )


def _searches(folder: Path) -> pd.DataFrame:
    columns = ["table", "method", "hyperparameter", "range", "step", "optimal_value"]
    frames = [pd.DataFrame(columns=columns, dtype=str)]
    for path in sorted(folder.glob("settings_table_*.csv")):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if set(columns) <= set(frame):
            frames.append(frame[columns])
    searches = pd.concat(frames, ignore_index=True)
    searches["table"] = searches["table"].str.removeprefix("table_")
    return searches

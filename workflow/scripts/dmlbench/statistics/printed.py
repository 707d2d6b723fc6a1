"""Printed numbers: reading their transcription."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.plan.catalogs.rows import NOTHING
from dmlbench.plan.studies.mapping import table_id


def read_printed(reference: str | os.PathLike, tables: Iterable[str]) -> pd.DataFrame:
    """Read printed tables ("06", "4_01", ...) of one study from its folder of transcriptions.

    Returns:
        The transcription's columns as strings (empty if nothing is printed), with three
        added: `number`, the printed value as a float in the printed unit; `decimals`, how many
        are printed; `k`, the k of a recall_at_k, else missing.

    Raises:
        UserError: the folder has no such table.
    """
    return read_printed_files(Path(reference) / f"table_{table}.csv" for table in tables)


def read_printed_files(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read transcriptions of printed tables; returns and raises as `read_printed`."""
    printed = _read(files, "table", "table_*.csv")
    printed["number"] = printed["value"].astype(float)
    printed["decimals"] = [decimals(value) for value in printed["value"]]
    printed["k"] = printed["metric"].str.extract(r"^recall_at_(\d+)$", expand=False).astype(float)
    return printed


def read_printed_settings(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read transcriptions of printed hyper-parameters: the columns of the files, as strings.

    Raises:
        UserError: a file is missing.
    """
    return _read(files, "settings", "settings_table_*.csv")


def decimals(printed: str) -> int:
    """Number of digits after the decimal point of a printed number."""
    return len(printed.partition(".")[2])


def as_scores(printed: pd.DataFrame, *, selection: str = "best_test_epoch") -> pd.DataFrame:
    """Printed scores as a long table as runs store them (fractions), one seed, split `half`."""
    columns = {"run": printed["table"] + printed["panel"] + "/" + printed["method"]} | NOTHING
    columns |= {name: printed[name] for name in ("dataset", "network", "method", "metric")}
    columns |= {
        "embedding_dim": printed["embedding_dim"].astype("int64"),
        "recipe": printed["study"],
        "split": "half",
        "role": "test",
        "selection": selection,
        "value": printed["number"] / [quantity(metric).factor for metric in printed["metric"]],
    }
    return pd.DataFrame(columns)


def display_table(table: str) -> str:
    """The number of a table as a reader writes it: `table_06` -> `6`, `4_01` -> `4.1`."""
    return ".".join(str(int(part)) for part in table_id(table).split("_"))


def _read(files: Iterable[str | os.PathLike], what: str, named: str) -> pd.DataFrame:
    """The rows of all files, as strings."""
    frames = []
    for path in map(Path, files):
        if not path.is_file():
            raise UserError(f"no printed {what} at {path}; allowed: files named {named}")
        frames.append(pd.read_csv(path, dtype=str, keep_default_na=False))
    return pd.concat(frames, ignore_index=True)

"""Printed numbers: reading their transcription, and what arithmetic alone says about them."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError

EQUAL = "equal"
TRUNCATED = "truncated"
ROUNDED_UP = "rounded up"
DIFFERS = "differs"

_SERIES = ["table", "panel", "dataset", "network", "embedding_dim", "method", "variant", "split"]


def read_printed(reference: str | os.PathLike, tables: Iterable[str]) -> pd.DataFrame:
    """Read printed tables ("06", "4_01", ...) of one study from its folder of transcriptions.

    Returns:
        The transcription's columns as strings (empty where nothing is printed), with three
        added: `number`, the printed value as a float in the printed unit; `decimals`, how many
        are printed; `k`, the k of a recall_at_k, else missing.

    Raises:
        UserError: the folder has no such table.
    """
    return read_printed_files(Path(reference) / f"table_{table}.csv" for table in tables)


def read_printed_files(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read transcriptions of printed tables; returns and raises as `read_printed`."""
    frames = []
    for path in map(Path, files):
        if not path.is_file():
            raise UserError(f"no printed table at {path}; allowed: files named table_*.csv")
        frames.append(pd.read_csv(path, dtype=str, keep_default_na=False))
    printed = pd.concat(frames, ignore_index=True)
    printed["number"] = printed["value"].astype(float)
    printed["decimals"] = [decimals(value) for value in printed["value"]]
    printed["k"] = printed["metric"].str.extract(r"^recall_at_(\d+)$", expand=False).astype(float)
    return printed


def read_printed_settings(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read transcriptions of printed hyper-parameters: the columns of the files, as strings.

    Raises:
        UserError: a file is missing.
    """
    frames = []
    for path in map(Path, files):
        if not path.is_file():
            raise UserError(f"no printed settings at {path}; allowed: files settings_table_*.csv")
        frames.append(pd.read_csv(path, dtype=str, keep_default_na=False))
    return pd.concat(frames, ignore_index=True)


def decimals(printed: str) -> int:
    """Number of digits behind the decimal point of a printed number."""
    return len(printed.partition(".")[2])


def as_scores(printed: pd.DataFrame, *, selection: str = "best_test_epoch") -> pd.DataFrame:
    """Printed percentages as a long table of scores, in fractions, one seed, split `half`."""
    return pd.DataFrame(
        {
            "run": printed["table"] + printed["panel"] + "/" + printed["method"],
            "dataset": printed["dataset"],
            "network": printed["network"],
            "embedding_dim": printed["embedding_dim"].astype("int64"),
            "method": printed["method"],
            "recipe": printed["study"],
            "variant": "",
            "split": "half",
            "fold": "",
            "seed": 0,
            "role": "test",
            "selection": selection,
            "metric": printed["metric"],
            "value": printed["number"] / 100,
        }
    )


def verdict(printed: float, recomputed: float, decimals: int) -> str:
    """How a printed number relates to its recomputation at the printed number of decimals.

    `equal` when it is the recomputed number rounded (a half may go either way), `truncated` when
    further digits were cut off, `rounded up` when it is the next number above where the nearest
    lies below, else `differs`.
    """
    unit = 10.0**-decimals
    above = (recomputed - printed) / unit
    if abs(above) <= 0.5 + 1e-6:
        return EQUAL
    if 0 < above < 1:
        return TRUNCATED
    if -1 < above < 0:
        return ROUNDED_UP
    return DIFFERS


def falling_recalls(printed: pd.DataFrame) -> pd.DataFrame:
    """Check that R@k does not fall with k: k neighbours include the k - 1 nearer ones.

    Returns:
        One row per printed series of recalls: table, item, quantity, printed (the series),
        recomputed (empty) and verdict.
    """
    rows = []
    recalls = printed.dropna(subset=["k"])
    for key, series in recalls.groupby(_SERIES, sort=False):
        series = series.sort_values("k")
        falls = series[series["number"].diff() < 0]
        rows.append(
            {
                "table": key[0].removeprefix("table_") + key[1],
                "item": key[5],
                "quantity": "R@" + "/".join(f"{k:.0f}" for k in series["k"]),
                "printed": "/".join(series["value"]),
                "recomputed": "",
                "verdict": f"falls at k={falls.iloc[0]['k']:.0f}" if len(falls) else EQUAL,
            }
        )
    return pd.DataFrame(rows)


def unattainable_recalls(printed: pd.DataFrame, test_images: dict[str, int]) -> pd.DataFrame:
    """Check that a printed R@k is a whole number of N test images, within the printed rounding.

    R@k over N queries is m/N for a whole number m, so that not every percentage can occur where
    100/N is larger than the last printed digit.

    Args:
        printed: as `read_printed` gives it.
        test_images: data set -> N.

    Returns:
        One row per printed recall: table, item, quantity, printed, recomputed (the nearest
        attainable percentage, with two more digits than are printed) and verdict.
    """
    rows = []
    for cell in printed.dropna(subset=["k"]).itertuples():
        queries = test_images[cell.dataset]
        nearest = 100 * round(cell.number / 100 * queries) / queries
        found = verdict(cell.number, nearest, cell.decimals)
        rows.append(
            {
                "table": cell.table.removeprefix("table_") + cell.panel,
                "item": cell.method,
                "quantity": f"R@{cell.k:.0f}",
                "printed": cell.value,
                "recomputed": f"{nearest:.{cell.decimals + 2}f}",
                "verdict": EQUAL if found == EQUAL else f"no multiple of 1/{queries}",
            }
        )
    return pd.DataFrame(rows)


def display_table(table: str) -> str:
    """The number of a table as a reader writes it: `06a` -> `6a`, `4_01` -> `4.01`."""
    return re.sub(r"^0+", "", table).replace("_", ".")

"""How many findings of the audit stand: a drawn sample, checked by hand against the papers."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dmlbench.errors import UserError

SEED = 2026
SIZE = 60
"""What is drawn, and how many."""
COLUMNS = ["defect", "stands", "reason"]


class Precision(NamedTuple):
    """How many of the checked defects stand."""

    stand: int
    checked: int


def drawn(defects: Iterable[str]) -> list[str]:
    """The sample of `SIZE` defects that `SEED` draws; all of them if there are fewer."""
    every = sorted(set(defects))
    order = np.random.default_rng(SEED).permutation(len(every))
    return sorted(every[place] for place in order[:SIZE])


def read_checked(file: str | os.PathLike) -> pd.DataFrame:
    """The defects that were checked by hand.

    Returns:
        `COLUMNS`; `stands` is a truth value.

    Raises:
        UserError: the file is missing, or has other columns or values.
    """
    file = Path(file)
    if not file.is_file():
        raise UserError(f"no checked findings at {file}; allowed: a CSV file of {COLUMNS}")
    checked = pd.read_csv(file, dtype=str, keep_default_na=False)
    if list(checked) != COLUMNS or not checked["stands"].isin(["yes", "no"]).all():
        raise UserError(f"{file}: allowed: columns {COLUMNS}, where stands is yes or no")
    return checked.assign(stands=checked["stands"] == "yes")


def precision(sample: Iterable[str], checked: pd.DataFrame) -> Precision:
    """How many defects of a sample stand.

    Raises:
        UserError: one of them was not checked.
    """
    stands = dict(zip(checked["defect"], checked["stands"], strict=True))
    sample = list(sample)
    for defect in sample:
        if defect not in stands:
            raise UserError(f"{defect!r} was drawn and not checked; allowed: a row for each")
    return Precision(int(sum(stands[defect] for defect in sample)), len(sample))

"""How many findings of the audit stand, checked by hand against the papers."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from dmlbench.errors import UserError
from scipy.special import betaincinv

CORRECTED = 10
"""Findings that were no mistakes. Their rules or entries were corrected or dropped before the
defects that stand were listed, so they were counted (in 3e978619) and not listed."""

SEED = 63
SIZE = 60
"""What draws places, and how many."""

DEFECT_COLUMNS = ["defect", "stands", "reason"]
PLACE_COLUMNS = ["defect", "place", "printed", "recomputed", "sure", "stands", "reason"]
_LEVEL = 0.95


class Precision(NamedTuple):
    """How many of the checked findings stand."""

    stand: int
    checked: int

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share that stands, each end in [0, 1].

        It is exact for independent draws, and too wide for draws without replacement from few.

        Source: C. J. Clopper and E. S. Pearson, The Use of Confidence or Fiducial Limits
        Illustrated in the Case of the Binomial, Biometrika 26, 1934.
        """
        fall, tail = self.checked - self.stand, (1 - _LEVEL) / 2
        low = betaincinv(self.stand, fall + 1, tail) if self.stand else 0.0
        high = betaincinv(self.stand + 1, fall, 1 - tail) if fall else 1.0
        return float(low), float(high)


def read_checked(file: str | os.PathLike) -> pd.DataFrame:
    """The defects that were checked by hand.

    Returns:
        `DEFECT_COLUMNS`; `stands` is a truth value.

    Raises:
        UserError: the file is missing, or has other columns or values.
    """
    checked = _read(file, DEFECT_COLUMNS, ["yes", "no"])
    return checked.assign(stands=checked["stands"] == "yes")


def precision(defects: Iterable[str], checked: pd.DataFrame) -> Precision:
    """How many defects stand.

    Raises:
        UserError: one of them was not checked.
    """
    stands = dict(zip(checked["defect"], checked["stands"], strict=True))
    defects = list(defects)
    for defect in defects:
        if defect not in stands:
            raise UserError(f"{defect!r} was not checked by hand; allowed: a row for each defect")
    return Precision(int(sum(stands[defect] for defect in defects)), len(defects))


def read_places(file: str | os.PathLike) -> pd.DataFrame:
    """The places that the audit found when `SIZE` of them were drawn and checked by hand.

    Returns:
        `PLACE_COLUMNS`, in the order of the draw; `stands` is yes, no, or empty for a place that
        was not drawn.

    Raises:
        UserError: the file is missing, has other columns or values, or checks other places than
            `SEED` draws.
    """
    places = _read(file, PLACE_COLUMNS, ["yes", "no", ""])
    order = np.random.default_rng(SEED).permutation(len(places))
    if set(np.flatnonzero(places["stands"])) != set(order[:SIZE]):
        raise UserError(f"{file}: allowed: a verdict for each of {SIZE} drawn places and no other")
    return places


def precision_of_places(places: pd.DataFrame) -> Precision:
    """How many of the drawn places stand."""
    verdicts = places["stands"]
    return Precision(int((verdicts == "yes").sum()), int((verdicts != "").sum()))


def _read(file: str | os.PathLike, columns: list[str], verdicts: list[str]) -> pd.DataFrame:
    file = Path(file)
    if not file.is_file():
        raise UserError(f"no checked findings at {file}; allowed: a CSV file of {columns}")
    checked = pd.read_csv(file, dtype=str, keep_default_na=False)
    if list(checked) != columns or not checked["stands"].isin(verdicts).all():
        raise UserError(f"{file}: allowed: columns {columns}, where stands is one of {verdicts}")
    return checked

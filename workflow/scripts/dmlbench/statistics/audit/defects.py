"""Findings with one cause are one defect with several places."""

import pandas as pd

from dmlbench.statistics.audit.check import AGREES, SURE
from dmlbench.words import counted


def findings_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The checks that do not agree."""
    return frame[frame["kind"] != AGREES]


def defects_of(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per defect, in the order of the audit.

    Args:
        frame: checks, with the columns of `audit.COLUMNS`.

    Returns:
        defect, study, rule, blames, `sure` (that of its surest place), and `places`, how many it
        has.
    """
    findings = findings_of(frame)
    order = findings["defect"].unique()
    surest = findings["sure"].map(SURE.index)
    findings = findings.assign(surest=surest).sort_values("surest", kind="stable")
    grouped = findings.groupby("defect", sort=False)
    one = grouped[["study", "rule", "blames", "sure"]].first()
    one["places"] = grouped.size()
    return one.reindex(order).rename_axis("defect").reset_index()


def says(defects: pd.DataFrame) -> str:
    """The counts in a part of a sentence, such as `3 defects in 4 places: 2 certain, 1 likely`."""
    if not len(defects):
        return "no defect"
    counts = defects["sure"].value_counts()
    sure = ", ".join(f"{counts[each]} {each}" for each in SURE if each in counts)
    places = int(defects["places"].sum())
    where = "" if places == len(defects) else f" in {places} places"
    return f"{counted(len(defects), 'defect')}{where}: {sure}"

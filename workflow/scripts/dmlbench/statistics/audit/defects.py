"""Findings with one cause are one defect with several places."""

import pandas as pd

from dmlbench.statistics.audit.check import AGREES, SURE

CLAIMS = "claims"
"""The rule of hand-written claims of the text; all other rules are arithmetic."""


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
    found = findings_of(frame)
    surest = found["sure"].map(SURE.index)
    found = found.assign(surest=surest).sort_values("surest", kind="stable")
    grouped = found.groupby("defect", sort=False)
    one = grouped[["study", "rule", "blames", "sure"]].first()
    one["places"] = grouped.size()
    order = dict.fromkeys(findings_of(frame)["defect"])
    return one.reindex(list(order)).rename_axis("defect").reset_index()


def says(defects: pd.DataFrame) -> str:
    """The counts in a sentence's part, such as `3 defects in 4 places (2 certain, 1 likely)`."""
    parts = []
    for name, own in (
        ("defect", defects[defects["rule"] != CLAIMS]),
        ("claim that its tables do not bear out", defects[defects["rule"] == CLAIMS]),
    ):
        if len(own):
            counts = own["sure"].value_counts()
            sure = ", ".join(f"{counts[each]} {each}" for each in SURE if each in counts)
            places = int(own["places"].sum())
            named = name if len(own) == 1 else _plural(name)
            where = "" if places == len(own) else f" in {places} places"
            parts.append(f"{len(own)} {named}{where} ({sure})")
    return " and ".join(parts) or "no defect"


def _plural(name: str) -> str:
    first, _, rest = name.partition(" ")
    return f"{first}s {rest}".strip().replace("its tables", "their tables")

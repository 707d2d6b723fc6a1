"""What a table says of a score of ours and a printed one: cells, their columns, and notes."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation.table import Cell, Column
from dmlbench.statistics.comparison import BOTH, NOT_RUN, OURS_ALONE, selected_alike

NOT_PRINTED = "not printed"
OTHER_EPOCH = "other epoch"
OWN_BEST = (
    "Other epoch: the printed number is from the test epoch that is best in its own metric, ours "
    "is not, so that the two cannot be compared."
)
ONE_SEED = "One seed: the interval in which our seeds would allow the printed number is unknown."
INTERVAL = (
    "In 95 %: whether the printed {} lies where 95 % of {} fall that come from the distribution "
    "of ours ({})."
)
STUDENT = "prediction interval of Student's t over our runs"
WELCH = "Welch's t, from the spread of our runs and the printed one"
BOTH_TESTS = f"{WELCH}; where none is printed, {STUDENT}"


class _Shown(NamedTuple):
    """How a column shows what a cell says: the ending of its name, and as in `Column`."""

    ending: str = ""
    header: str = ""
    decimals: int = 2
    marked: bool = False
    signed: bool = False


_SHOWN = {
    "ours": _Shown("", "ours", marked=True),
    "printed": _Shown("_printed", "printed", marked=True),
    "difference": _Shown("_difference", "diff.", signed=True),
    "inside": _Shown("_inside", "in 95 %"),
    "deviations": _Shown(decimals=1, signed=True),
}


def has_intervals(compared: pd.DataFrame) -> bool:
    """Whether any printed number can be compared with an interval of ours."""
    return bool(compared["inside"].notna().any())


def note(compared: pd.DataFrame, *, gains: bool = False) -> tuple[str, ...]:
    """What a table of these rows says about its intervals."""
    if compared["printed"].isna().all():
        return ()
    if not has_intervals(compared):
        return (ONE_SEED,)
    spread = compared.loc[compared["inside"].notna(), "printed_std"] > 0
    test = WELCH if spread.all() else BOTH_TESTS if spread.any() else STUDENT
    alike = selected_alike(compared[compared["status"] == BOTH]).all()
    what = ("gain", "gains of one draw") if gains else ("number", "numbers")
    return (INTERVAL.format(*what, test), *(() if alike else (OWN_BEST,)))


def columns(
    cells: Iterable[str],
    metric: str,
    stem: str,
    heading: str,
    above: str = "",
    *,
    marked: bool = True,
    gains: bool = False,
) -> list[Column]:
    """The columns of one metric, below its heading; a single one is headed by it, below `above`.

    Args:
        cells: of `cell`.
        stem: begins the columns' names.
        marked: whether the best is marked.
        gains: whether scores are differences, with a sign.
    """
    shown = [_SHOWN[each] for each in cells]
    better = quantity(metric).better if marked and not gains else ""
    return [
        Column(
            f"{stem}{each.ending}",
            *((each.header, heading) if len(shown) > 1 else (heading, above)),
            each.decimals,
            better if each.marked else "",
            signed=each.signed or (gains and each.marked),
        )
        for each in shown
    ]


def cell(what: str, row, absent: str = NOT_RUN) -> Cell:
    """What a cell says of a row of `statistics.comparison.compare`; missing values say why.

    Args:
        what: `ours`, `printed`, their `difference`, whether the printed number is `inside` an
            interval of ours, or how many standard `deviations` of ours it is above ours.
        row: a named tuple; None if there is neither a run nor a printed number.
        absent: the status of a missing row.
    """
    status = absent if row is None else row.status
    if what == "ours":
        ran = status in (BOTH, OURS_ALONE)
        return _spread(row.ours, row.ours_std if row.seeds > 1 else None) if ran else Cell(status)
    if what == "printed":
        there = row is not None and status != OURS_ALONE
        return _spread(row.printed, row.printed_std) if there else Cell(NOT_PRINTED)
    if status != BOTH:
        return Cell(None)
    if what == "difference":
        return Cell(row.difference)
    if what == "deviations":
        return Cell(-row.difference / row.ours_std if row.ours_std > 0 else None)
    if pd.notna(row.printed) and row.printed_selection not in ("", row.selection):
        return Cell(OTHER_EPOCH)
    return Cell(None if pd.isna(row.inside) else "yes" if row.inside else "no")


def _spread(value: float, spread: float | None) -> Cell:
    return Cell(value, None if pd.isna(spread) else spread)

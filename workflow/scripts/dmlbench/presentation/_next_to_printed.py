"""Columns and cells shared by the kinds of tables that show our numbers next to printed ones."""

from collections.abc import Mapping, Sequence

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation.names import name
from dmlbench.presentation.table import Cell, Column
from dmlbench.statistics.comparison import (
    BOTH,
    NOT_RUN,
    OURS_ALONE,
    compare,
    selected_alike,
)

NOT_PRINTED = "not printed"
OTHER_EPOCH = "other epoch"
OWN_BEST = (
    "Other epoch: the printed number is from the test epoch that is best in its own metric, ours "
    "is not, so that the two cannot be compared."
)
ONE_SEED = "One seed: the interval in which our seeds would allow the printed number is unknown."
INTERVAL = (
    "In 95 %: whether the printed number lies where 95 % of numbers fall that come from the "
    "distribution of ours ({})."
)
STUDENT = "prediction interval of Student's t over our runs"
WELCH = "Welch's t, from the spread of our runs and the printed one"
BOTH_TESTS = f"{WELCH}; where none is printed, {STUDENT}"


def next_to_printed(
    scores: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    metrics: Sequence[str],
    selection: str,
    roles: Sequence[str] = ("test",),
) -> pd.DataFrame:
    """`statistics.comparison.compare` of the scores of one selection rule and some metrics.

    Scores without a selected epoch match any rule.

    Raises:
        UserError: there are scores, but none match.
    """
    ours = scores[scores.selection.isin([selection, "none"])].assign(selection=selection)
    if len(scores) and not ours.metric.isin(list(metrics)).any():
        raise UserError(f"no scores of {', '.join(metrics)} at {selection}")
    compared = compare(ours, printed)
    return compared[compared.metric.isin(list(metrics)) & compared.role.isin(list(roles))]


def has_intervals(compared: pd.DataFrame) -> bool:
    """Whether any printed number can be compared with an interval of ours."""
    return bool(compared["inside"].notna().any())


def note(compared: pd.DataFrame) -> tuple[str, ...]:
    """What a table of these rows says about its intervals."""
    if compared["printed"].isna().all():
        return ()
    if not has_intervals(compared):
        return (ONE_SEED,)
    spread = compared.loc[compared["inside"].notna(), "printed_std"] > 0
    test = WELCH if spread.all() else BOTH_TESTS if spread.any() else STUDENT
    alike = selected_alike(compared[compared["status"] == BOTH]).all()
    return (INTERVAL.format(test), *(() if alike else (OWN_BEST,)))


def columns(
    metric: str,
    titles: Mapping[str, str],
    *,
    prefix: str = "",
    group: str | None = None,
    marked: bool = True,
    printed: bool = True,
    intervals: bool = False,
) -> list[Column]:
    """The columns of one metric: ours alone, or ours, printed, difference and interval."""
    better = quantity(metric).better if marked else ""
    stem = f"{prefix}{metric}"
    group = name(titles, metric) if group is None else group
    if not printed:
        return [Column(stem, group, better=better)]
    compared = [
        Column(stem, "ours", group, better=better),
        Column(f"{stem}_printed", "printed", group, better=better),
        Column(f"{stem}_difference", "diff.", group, better="", signed=True),
    ]
    if intervals:
        compared.append(Column(f"{stem}_inside", "in 95 %", group, better=""))
    return compared


def lines(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """The methods with their variants, in the order of a frame."""
    return list(dict.fromkeys(zip(frame.method, frame.variant, strict=True)))


def cells(
    row, *, absent: str = NOT_RUN, printed: bool = True, intervals: bool = False
) -> list[Cell]:
    """The cells of `columns` for a row of `compare`; missing values say why.

    Args:
        row: a named tuple of `compare`'s frame; None if there is neither a run nor a printed
            number.
        absent: the status of a missing row.
    """
    status = absent if row is None else row.status
    ran = status in (BOTH, OURS_ALONE)
    there = row is not None and status != OURS_ALONE
    ours = Cell(row.ours, row.ours_std if row.seeds > 1 else None) if ran else Cell(status)
    if not printed:
        return [ours]
    theirs = _printed(row) if there else Cell(NOT_PRINTED)
    compared = [ours, theirs, Cell(row.difference if ran and there else None)]
    if not intervals:
        return compared
    return [*compared, _inside(row)]


def _inside(row) -> Cell:
    if row is None or pd.isna(row.printed):
        return Cell(None)
    if row.status == BOTH and row.printed_selection not in ("", row.selection):
        return Cell(OTHER_EPOCH)
    return Cell(None if pd.isna(row.inside) else "yes" if row.inside else "no")


def _printed(row) -> Cell:
    return Cell(row.printed, None if pd.isna(row.printed_std) else row.printed_std)

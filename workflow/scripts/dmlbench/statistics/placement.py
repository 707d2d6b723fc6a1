"""Printed numbers at the places of the same numbers in our long table of scores."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from dmlbench.evaluation.names import quantity
from dmlbench.plan.catalogs.rows import PLACED, all_but
from dmlbench.plan.studies.mapping import (
    CELL,
    NOWHERE,
    Mapping,
    Mean,
    Place,
    cell_of,
    read_mapping,
)
from dmlbench.statistics.printed import read_printed_files

KEY = [*PLACED, "role", "metric"]
"""The columns by which our scores and printed numbers are joined."""

FOLDS = ("mean", "best")
"""Folds of a place that represent all folds of a split: their mean, or the best of them."""


def read_placed(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Read transcriptions of printed tables, placed by the `mapping.yaml` in their folder.

    Returns and raises: as `place`; UserError as well for a missing table or mapping.
    """
    files = list(map(Path, files))
    parts = [
        place(read_printed_files([file for file in files if file.parent == folder]), mapping)
        for folder, mapping in {file.parent: read_mapping(file.parent) for file in files}.items()
    ]
    return pd.concat(parts, ignore_index=True)


def place(printed: pd.DataFrame, mapping: Mapping) -> pd.DataFrame:
    """Printed numbers with the columns of their places.

    Args:
        printed: as `statistics.printed.read_printed` gives it.

    Returns:
        One row per printed number: study, table, panel, value, note, number, decimals and k of
        `printed`, and its method and variant as `printed_method` and `printed_variant`; the
        columns of `plan.studies.mapping.Place`; `why`, why a number has no place (empty if it has
        one; otherwise the other columns are as printed, without split and fold); `selection`, the
        rule of a number that is not at its run's own epoch (empty for others); `printed_std`, the
        spread as printed; `error`, the standard error of the printed mean (missing if no spread is
        printed); and `runs`, how many runs it is the mean of (infinite where the document does not
        say).

    Raises:
        UserError: the mapping neither places a number nor says that it has no place.
    """
    cells = list(map(cell_of, printed.to_dict("records")))
    why = [mapping.why_unplaced(cell) for cell in cells]
    places = [
        _as_printed(cell) if reason else mapping.place(cell)
        for cell, reason in zip(cells, why, strict=True)
    ]
    spread = pd.to_numeric(printed["std"], errors="coerce")
    means = [_runs_and_errors(mapping.mean(cell)) for cell in cells]
    kept = ["study", "table", "panel", "value", "note", "number", "decimals", "k"]
    types = dict.fromkeys([*Place._fields, "why", "selection"], "str") | {"embedding_dim": "Int64"}
    types |= dict.fromkeys(["number", "printed_std", "error", "runs"], "float64")
    placed = pd.DataFrame(places, columns=Place._fields, index=printed.index).assign(
        **{column: printed[column] for column in kept},
        printed_method=printed["method"],
        printed_variant=printed["variant"],
        why=why,
        selection=[mapping.selection(cell) for cell in cells],
        printed_std=spread,
        error=spread / [errors for _, errors in means],
        runs=[runs for runs, _ in means],
    )
    return placed.astype(types)


def nothing_printed() -> pd.DataFrame:
    """No printed numbers, in the columns of `place`."""
    columns = ["study", "table", "panel", *CELL, "value", "std", "note", "number", "decimals", "k"]
    return place(pd.DataFrame(columns=list(dict.fromkeys(columns)), dtype="str"), Mapping(rules=[]))


def find(scores: pd.DataFrame, placed: pd.DataFrame) -> pd.DataFrame:
    """Our scores at the places of printed numbers, and all others.

    Args:
        scores: the long table of scores.
        placed: as `place` gives it.

    Returns:
        The scores, and for splits whose printed numbers are those of `FOLDS` also the corresponding
        scores over folds; single folds of such a split are left out if no number of a single fold
        is printed.
    """
    parts = [scores]
    for split, numbers in placed[placed["why"] == ""].groupby("split"):
        of_folds = (scores["split"] == split) & scores["fold"].str.fullmatch(r"\d+")
        folds = scores[of_folds]
        wanted = set(numbers["fold"])
        if not wanted & set(FOLDS):
            continue
        if wanted <= set(FOLDS):
            parts[0] = parts[0][~of_folds.reindex(parts[0].index)]
        if "mean" in wanted:
            parts.append(folds.assign(fold="mean"))
        if "best" in wanted:
            (by,) = set(numbers.loc[numbers["fold"] == "best", "by"])
            parts.append(_best_fold(folds, by).assign(fold="best"))
    return pd.concat(parts, ignore_index=True)


def _best_fold(folds: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The scores of the fold with the best validation score, the first of equal ones."""
    run = [*all_but("fold"), "selection"]
    judged = folds[(folds["role"] == "validation") & (folds["metric"] == metric)]
    rising = [quantity(metric).better == "lower", True]
    judged = judged.sort_values(["value", "fold"], ascending=rising, kind="stable")
    return folds.merge(judged.drop_duplicates(run)[[*run, "fold"]], on=[*run, "fold"])


def _as_printed(cell: dict[str, str]) -> Place:
    columns = NOWHERE | {name: cell[name] for name in CELL}
    size = int(cell["embedding_dim"]) if cell["embedding_dim"] else None
    return Place(**columns | {"role": cell["split"], "split": "", "embedding_dim": size})


def _runs_and_errors(mean: Mean | None) -> tuple[float, float]:
    """How many runs a printed number is the mean of, and how many standard errors its spread is."""
    if mean is None:
        return 1, np.nan
    runs = np.inf if mean.runs == "unknown" else mean.runs
    if mean.spread == "standard_deviation":
        return runs, runs**0.5
    if mean.spread == "standard_deviation_over_n":
        return runs, (runs - 1) ** 0.5
    return runs, float(stdtrit(runs - 1, 0.975) if np.isfinite(runs) else ndtri(0.975))

"""Folds that are scored together: which runs, and the folder of their scores."""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.naming import digest_of
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.once import once
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import DIGITS, Run


@dataclass(frozen=True)
class Combination:
    """The folds of one training.

    Attributes:
        row: identifies its scores, except for the form in which the folds are combined.
        folds: their rows, in order.
        runs: those behind the folds.
    """

    row: Row
    folds: tuple[Row, ...]
    runs: tuple[Run, ...]

    @functools.cached_property
    def folder(self) -> str:
        """Its folder below `results/combined`: like its first run's, with a digest of all runs."""
        prefix, _, _ = self.runs[0].folder.rpartition("-")
        digest = digest_of([run.folder for run in self.runs], DIGITS)
        return f"{prefix.replace(f'-fold{self.runs[0].spec.fold}/', '/')}-{digest}"


@once
def combinations(plan: Plan, study: str) -> dict[Row, Combination]:
    """The combinations of a study: the row of each form -> its folds.

    Raises:
        UserError: there are no rows to combine, they have no folds, or are not scored by cosine.
    """
    by_row = {}
    for position, combine in enumerate(plan.studies[study].combine):
        rows = plan.rows(study, combine.where)
        where = f"{plan.file(study)}: combine.{position}"
        if not rows:
            raise UserError(f"{where}.where: fits none of the study's rows")
        for row, folds in _folds(rows, where).items():
            combined = Combination(row, tuple(folds), tuple(map(plan.run, folds)))
            _check_distance(combined, where)
            by_row |= {replace(row, fold=form): combined for form in combine.forms}
    return by_row


def find(plan: Plan, folder: str) -> Combination:
    """The combination of a folder.

    Raises:
        UserError: no active study combines these folds.
    """
    try:
        return _by_folder(plan)[folder]
    except KeyError:
        raise UserError(f"combination {folder}: no active study lists it") from None


@once
def _by_folder(plan: Plan) -> dict[str, Combination]:
    listed = (combinations(plan, study).values() for study in plan.studies)
    return {each.folder: each for each in itertools.chain.from_iterable(listed)}


def _check_distance(combined: Combination, where: str) -> None:
    distance = combined.runs[0].spec.evaluation_distance
    if distance != "cosine":
        raise UserError(
            f"{where}: {combined.row.label} has evaluation_distance {distance}; allowed: cosine, "
            "by which folds are combined"
        )


def _folds(rows: Iterable[Row], where: str) -> dict[Row, list[Row]]:
    """Rows that differ only in their fold, by the row without it."""
    by_row: dict[Row, list[Row]] = {}
    for row in rows:
        if row.fold is None:
            raise UserError(f"{where}: {row.label} has no folds; allowed: rows with folds")
        by_row.setdefault(replace(row, fold=None), []).append(row)
    return {row: sorted(folds, key=lambda fold: fold.fold) for row, folds in by_row.items()}

"""The rows of a study with their files of scores, which its long table and its views read."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dmlbench.plan import paths
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.specs import published_runs
from dmlbench.plan.specs.combinations import Combination, combinations
from dmlbench.plan.specs.plan import Plan

File = paths.Made | paths.InRepository
"""Made by a job, or published."""


def shown(
    plan: Plan, study: str, where: Where | None = None, measures: Sequence[str] = ()
) -> list[tuple[dict[str, Any], File]]:
    """The rows of a study's long table, each with its file of scores.

    Rows of combined folds are included if `where` names their form, or if there is no `where`. A
    row is repeated for each measure, which published scores have with the others.
    """
    stand = published_runs.standing(plan, study)
    runs = [(_shown(plan, study, row), plan.run(row).folder) for row in plan.rows(study, where)]
    files = [(row, _scores_of(plan, study, run)) for row, run in runs]
    combined = combinations(plan, study) if where is None or where.fold else {}
    files += [
        (
            row.columns | {"run": together.folder},
            _combined_scores(plan, study, row, together),
        )
        for row, together in combined.items()
        if where is None or where.holds(row)
    ]
    files += [
        (row, paths.made("measure", "scores", run=run, measure=name))
        for name in measures
        for row, run in runs
        if run not in stand
    ]
    return files


def _shown(plan: Plan, study: str, row: Row) -> dict[str, Any]:
    """A row's columns and `run`, the folder of the run whose scores it has.

    Where this run has another encoding of the images, `shifts` has what that moves.
    """
    run = plan.run(row).folder
    stand = published_runs.standing(plan, study).get(run)
    shifts = published_runs.of_other_encodings(plan, study).get(run)
    shown = row.columns | {"run": stand.run if stand else run}
    return shown | {"shifts": shifts} if shifts else shown


def _scores_of(plan: Plan, study: str, run: str) -> File:
    """The file with a run's scores: its own, or the long table of a published study."""
    published = published_runs.standing(plan, study).get(run)
    if published:
        return published_runs.file_of(plan, published.study, "scores")
    return paths.made("evaluate", "scores", run=run)


def _combined_scores(plan: Plan, study: str, row: Row, together: Combination) -> File:
    """`_scores_of` folds that are combined: published if all of them are, in one study."""
    stand = published_runs.standing(plan, study)
    there = [stand[run.folder].study for run in together.runs if run.folder in stand]
    if len(there) == len(together.runs) and len(set(there)) == 1:
        return _scores_of(plan, study, together.runs[0].folder)
    return paths.made("combine", combination=together.folder, form=row.fold)


def shown_rows(plan: Plan, study: str) -> list[dict[str, Any]]:
    """The rows of a study's long table: those of `shown` with the study's measures."""
    return [row for row, _ in shown(plan, study, None, plan.studies[study].measures)]


def rows_over_splits(plan: Plan, study: str, where: Where | None = None) -> list[Row]:
    """The matching rows of data sets of which these have several splits of the classes."""
    rows, splits = plan.rows(study, where), defaultdict(set)
    for row in rows:
        splits[row.dataset].add(row.split)
    return [row for row in rows if len(splits[row.dataset]) > 1]


def answers(
    plan: Plan, study: str, where: Where | None = None
) -> list[tuple[dict[str, Any], File | None]]:
    """The matching rows, each with its file of single queries' scores.

    Of published runs that stand for rows over several splits it is the one with the scores of
    classes; None if there are none.
    """
    stand = published_runs.standing(plan, study)
    over_splits = set(rows_over_splits(plan, study, where))
    files = []
    for row in plan.rows(study, where):
        run = plan.run(row).folder
        if run not in stand:
            file = paths.made("evaluate", "queries", run=run)
        elif row in over_splits:
            file = published_runs.file_of(plan, stand[run].study, "classes")
        else:
            file = None
        files.append((_shown(plan, study, row), file))
    return files


def answers_over_splits(plan: Plan, study: str) -> list[tuple[dict[str, Any], File]]:
    """`answers` of a study's rows over several splits, as far as there are any."""
    over_splits = {tuple(row.columns.items()) for row in rows_over_splits(plan, study)}
    return [
        (row, file)
        for row, file in answers(plan, study)
        if file is not None and _columns(row) in over_splits
    ]


def selected(plan: Plan, study: str) -> list[tuple[dict[str, Any], File]]:
    """`shown`, with the study's measures, and the selection rule of each row's own numbers."""
    together = combinations(plan, study)
    rules = {row: plan.run(row).spec.selection for row in plan.rows(study)}
    rules |= {row: rules[folds.folds[0]] for row, folds in together.items()}
    by_columns = {tuple(row.columns.items()): rule for row, rule in rules.items()}
    return [
        (row | {"selection": by_columns[_columns(row)]}, file)
        for row, file in shown(plan, study, None, plan.studies[study].measures)
    ]


def _columns(shown: dict[str, Any]) -> tuple:
    return tuple((key, value) for key, value in shown.items() if key not in ("run", "shifts"))

"""The tables of a published study, made again from its published scores: nothing is trained.

They follow the rules of this version, such as which test a difference has. Tables that need more
than scores stay as they were published, and are named.

    python -m dmlbench.presentation.published <study> ... [--folder results/published/<other>]
    python -m dmlbench.presentation.published <study> --latex <folder>
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from dmlbench import plan, registry
from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.published_runs import FOLDER
from dmlbench.plan.views import views
from dmlbench.presentation import table
from dmlbench.presentation.view_files import table_of
from dmlbench.program import errors_in_one_line
from dmlbench.statistics.aggregation import ROW, in_rows, read_scores, row_of
from dmlbench.statistics.classes import FILE as CLASSES

FORMATS = ("csv", "md")


def tables_again(
    plan: Plan, study: str, scores: pd.DataFrame, *, has_classes: bool = False
) -> Iterator[tuple[str, table.Table | str]]:
    """The tables of a study by their ids.

    Args:
        scores: the study's long table, as published.
        has_classes: whether its tables were made from the scores of classes.

    Yields:
        The table, or in words what it needs that the scores do not have.

    Raises:
        UserError: there is no such study.
    """
    for name in plan.study(study).tables:
        facts = views.facts(plan, study, "table", name)
        view = views.view(plan, study, "table", name)
        missing = _missing(view, facts["rows"], scores, has_classes)
        printed = views.printed_files(plan, study, view)
        own = scores[in_rows(scores, facts["rows"])] if facts["rows"] else scores[:0]
        try:
            yield name, missing or table_of(own.reset_index(drop=True), facts, printed)
        except UserError as error:
            yield name, f"what it shows ({error})"


def write_again(plan: Plan, study: str, folder: Path, latex: Path | None = None) -> Iterator[str]:
    """Write what `tables_again` gives as CSV and Markdown into the folder's `tables`.

    Args:
        folder: a folder that `make publish` wrote, with the scores of the study's runs.
        latex: where the tables go as LaTeX instead, if it is given.

    Yields:
        A line for each table that stays as it was, and one with the number of those written.

    Raises:
        UserError: there is no such study, or no scores in the folder.
    """
    scores = _in(folder, paths.made("aggregate", "scores", study=study))
    if not scores.exists():
        raise UserError(f"{scores}: missing; allowed: a folder with published scores")
    written = 0
    again = tables_again(
        plan, study, read_scores(scores), has_classes=scores.with_name(CLASSES).exists()
    )
    for name, table_or_gap in again:
        if isinstance(table_or_gap, str):
            stays = "is left out" if latex else "stays as it is"
            yield f"{study}: table {name} {stays}, because the scores lack {table_or_gap}"
            continue
        made = {end: paths.made("table", end, study=study, table=name) for end in FORMATS}
        files = {end: _in(folder, file) for end, file in made.items()}
        table.write(table_or_gap, **{"tex": latex / f"{name}.tex"} if latex else files)
        written += 1
    yield f"{study}: {written} tables in {latex or folder}"


def _in(folder: Path, file: str) -> Path:
    """Where a file of a study, named below the results, is in the folder of the published study."""
    return folder / Path(*Path(file).parts[2:])


def _missing(view: views.Table, rows: list[dict], scores: pd.DataFrame, has_classes: bool) -> str:
    """What a table needs and the scores do not have; empty if it is nothing."""
    if view.searches:
        return "trials of searches"
    if view.experiments:
        return "tables of experiments"
    part = "presentation/tables", view.kind.name
    if "queries" in registry.options(*part):
        # Splits of the classes have an interval without them, too.
        over_splits = len({row["split"] for row in rows}) > 1
        of_splits_alone = registry.constant(*part, "QUERIES_OF_SPLITS")
        if has_classes if over_splits else not of_splits_alone:
            return "ranks of single queries"
    absent = set(view.kind.hyperparameters.get("metrics", ())) - set(scores["metric"])
    if absent:
        return f"the metric {min(absent)}"
    there = set(scores[ROW].itertuples(index=False, name=None))
    absent = [row for row in map(row_of, rows) if row not in there]
    return f"{len(absent)} of its {len(rows)} runs, such as {absent[0]}" if absent else ""


def _lines(studies: list[str], folder: Path | None, latex: Path | None) -> Iterator[str]:
    if folder and len(studies) > 1:
        raise UserError(f"--folder with {len(studies)} studies; allowed: one")
    loaded = plan.load_folder(Path("config"), studies=studies)
    for study in studies:
        yield from write_again(loaded, study, folder or FOLDER / study, latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Tables of published studies, made again.")
    parser.add_argument("studies", nargs="+", metavar="study")
    parser.add_argument("--folder", type=Path, help="where its scores and tables are")
    parser.add_argument("--latex", type=Path, help="where its tables go as LaTeX")
    asked = parser.parse_args()
    with errors_in_one_line():
        for line in _lines(asked.studies, asked.folder, asked.latex):
            print(line)

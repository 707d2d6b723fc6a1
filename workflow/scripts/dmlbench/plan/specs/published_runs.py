"""Published runs that stand for rows: what was published with its scores is not trained again.

A run's folder has the digests of its spec, its data and the versions of its code, so a published
run of the same name is the run that would be trained here.
"""

import csv
import os
from pathlib import Path
from statistics import NormalDist, median

from dmlbench.errors import UserError, unknown
from dmlbench.plan import paths
from dmlbench.plan.once import once
from dmlbench.plan.specs.plan import Plan

FOLDER = Path("results", "published")
"""Of the repository: a folder for each published study."""


@once
def standing(plan: Plan, study: str) -> dict[str, str]:
    """Run of a study -> the first of its `published_runs` that has the run.

    A run that has been scored here stands for itself.

    Raises:
        UserError: a study of them is not published, or lacks a measure of the study.
    """
    results, published = plan.configuration.pathvars.results, _published(plan, study)
    if not published:
        return {}
    return {
        run.folder: published[run.folder]
        for run in plan.runs(study)
        if run.folder in published
        and not os.path.exists(f"{results}/{paths.made('evaluate', 'scores', run=run.folder)}")
    }


def file_of(plan: Plan, published: str, output: str) -> paths.InRepository | None:
    """A published study's `scores` or `classes`; None if it has none."""
    path = _folder(plan) / published / _name_of(output)
    return paths.InRepository(path) if path.exists() else None


def runs_of(plan: Plan, published: str) -> set[str]:
    """The runs of a published study; none if it is not published."""
    path = _folder(plan) / published / _name_of("runs")
    if not path.exists():
        return set()
    with path.open(newline="", encoding="utf-8") as file:
        return {row["run"] for row in csv.DictReader(file)}


def published_studies(plan: Plan) -> list[str]:
    """The published studies, by name."""
    return sorted(each.parent.name for each in _folder(plan).glob(f"*/{_name_of('runs')}"))


def said(plan: Plan, study: str) -> str:
    """For how many runs of a study published scores stand, in words; empty for none."""
    stand = standing(plan, study)
    if not stand:
        return ""
    named = ", ".join(sorted(set(stand.values())))
    return f"published scores stand for {len(stand)} of {len(plan.runs(study))} runs ({named})"


def detectable(plan: Plan, study: str) -> str:
    """Which difference from a published loss can be seen, in words; empty if it is not known.

    By the intervals of the differences between losses that a published study has a table of.
    """
    for published in sorted(set(standing(plan, study).values()) & plan.studies.keys()):
        for name, table in plan.studies[published].tables.items():
            is_of_losses = table.kind.hyperparameters.get("between") == "method"
            halves = _half_widths(_folder(plan) / published / "tables" / f"{name}.csv")
            if is_of_losses and halves:
                return (
                    f"differences in {published} have intervals of ±{median(halves):.1f} points of "
                    f"R@1 (median of {len(halves)}, table {name}): a loss that is truly "
                    f"{median(halves) * _SEEN:.1f} points apart is shown to be so with a "
                    "probability of 80 %"
                )
    return ""


def _half_widths(table: Path) -> list[float]:
    """Half of each interval of R@1 in a table of differences; none without such a table."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get("panel", "R@1") == "R@1"]
    return [(float(row["high"]) - float(row["low"])) / 2 for row in rows if row.get("low")]


_SEEN = 1 + NormalDist().inv_cdf(0.8) / NormalDist().inv_cdf(0.975)
"""Difference that is shown with a probability of 80 % over half of the 95 % interval."""


def trained_again(plan: Plan, study: str) -> str:
    """Which runs are published, but not as they would be trained now, in words; empty for none."""
    published = _published(plan, study)
    names = {run.rpartition("-")[0]: run for run in published}
    runs = [run.folder for run in plan.runs(study) if run.folder not in published]
    other = [run for run in runs if run.rpartition("-")[0] in names]
    if not other:
        return ""
    known = names[other[0].rpartition("-")[0]]
    return (
        f"{len(other)} runs are published with another spec, other data or an earlier version of "
        f"their code, and are trained again: {other[0]} is {known} there"
    )


def _folder(plan: Plan) -> Path:
    return plan.folder.parent / FOLDER


@once
def _published(plan: Plan, study: str) -> dict[str, str]:
    """Run -> the first of a study's `published_runs` that has it; errors as `standing`.

    A copy without published results has none.
    """
    if not _folder(plan).exists():
        return {}
    description, where = plan.studies[study], f"{plan.file(study)}: published_runs"
    found: dict[str, str] = {}
    for published in description.published_runs:
        runs = runs_of(plan, published)
        if not runs:
            raise unknown(f"{where}: study in {_folder(plan)}", published, published_studies(plan))
        has = plan.studies[published].measures if published in plan.studies else []
        if missing := set(description.measures).difference(has):
            raise UserError(f"{where}: the scores of {published} lack the measure {min(missing)}")
        found = dict.fromkeys(runs, published) | found
    return found


def _name_of(output: str) -> str:
    return Path(paths.made("aggregate", output, study="")).name

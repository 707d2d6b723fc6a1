"""Published runs that stand for rows: what was published with its scores is not trained again.

A run's folder has the digests of its spec, its data and the versions of its code, so a published
run of the same name is the run that would be trained here. A study can ask for those that have the
same images in another encoding, too (`other_encodings`).
"""

import csv
import os
from pathlib import Path
from statistics import NormalDist, median
from typing import NamedTuple

from dmlbench.errors import UserError, unknown
from dmlbench.plan import paths
from dmlbench.plan.once import once
from dmlbench.plan.specs import other_encodings
from dmlbench.plan.specs.plan import Plan

FOLDER = Path("results", "published")
"""Of the repository: a folder for each published study."""

ELSEWHERE = "†"
"""The mark of a method with published runs whose images have another encoding."""


class Standing(NamedTuple):
    """What stands for a run.

    Attributes:
        study: the published study that has it.
        run: its folder there: another one if its images have another encoding.
    """

    study: str
    run: str


@once
def standing(plan: Plan, study: str) -> dict[str, Standing]:
    """Run of a study -> what stands for it, in the first of its `published_runs` that has it.

    A run that has been scored here stands for itself.

    Raises:
        UserError: a study of them is not published, or lacks a measure of the study.
    """
    results, published = plan.configuration.pathvars.results, _published(plan, study)
    if not published:
        return {}
    others, found = other_encodings.runs(plan, study), {}
    for run in plan.runs(study):
        names = [run.folder, *others.get(run.folder, ())]
        there = next((name for name in names if name in published), None)
        scored = f"{results}/{paths.made('evaluate', 'scores', run=run.folder)}"
        if there and not os.path.exists(scored):
            found[run.folder] = Standing(published[there], there)
    return found


@once
def of_other_encodings(plan: Plan, study: str) -> dict[str, other_encodings.Shifts]:
    """Run of a study for which one of another encoding stands -> the measured shifts of scores.

    Raises:
        UserError: they are not measured for a data set and network.
    """
    stand = standing(plan, study)
    rows = {plan.run(row).folder: row for row in plan.rows(study)}
    moved = [run for run, each in stand.items() if each.run != run]
    return {run: other_encodings.measured(plan, rows[run]) for run in moved}


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
    named = ", ".join(sorted({each.study for each in stand.values()}))
    text = f"published scores stand for {len(stand)} of {len(plan.runs(study))} runs ({named})"
    others = len(of_other_encodings(plan, study))
    return f"{text}, {others} of them from another encoding of the same images" if others else text


def note(plan: Plan, study: str) -> str:
    """What a view says of published runs in it: `said`, and what runs of other encodings do."""
    text, shifts = said(plan, study), of_other_encodings(plan, study)
    if not shifts:
        return text
    moved = other_encodings.in_words(next(iter(shifts.values())))
    return (
        f"{text} ({ELSEWHERE}). Intervals and p of differences between encodings, and intervals of "
        f"ranks over splits, include how far another encoding moves scores ({moved}); other "
        "intervals do not"
    )


def detectable(plan: Plan, study: str) -> str:
    """Which difference from a published loss can be seen, in words; empty if it is not known.

    By the intervals of the differences between losses that a published study has a table of.
    """
    stand = {each.study for each in standing(plan, study).values()}
    for published in sorted(stand & plan.studies.keys()):
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
    stand = standing(plan, study)
    runs = [run.folder for run in plan.runs(study) if run.folder not in {*published, *stand}]
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

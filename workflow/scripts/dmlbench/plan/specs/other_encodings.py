"""Runs on the same images in another encoding, and how far it was measured to move their scores.

Catalog entries of encodings promise the same images and classes, in the same order; the index of
each is checked against the entry's counts. So a row's run in another encoding is that of a plan
that chooses it: of the same spec, split and versions of the code, and with searches of its own.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.once import once
from dmlbench.plan.specs.combinations import combinations
from dmlbench.plan.specs.plan import Plan
from dmlbench.words import counted

RECORD = Path("results", "benchmarks", "encodings.json")
"""Of the repository: what benchmarks/image_encodings.py has measured."""

Shifts = dict[str, tuple[float, int]]
"""Metric -> how far another encoding moves its score: the root mean square over what was measured,
in percentage points, and the number of measured encodings, its degrees of freedom."""

_OURS = "ours"
_METRICS = ("recall_at_1", "map_at_r")


@once
def runs(plan: Plan, study: str) -> dict[str, list[str]]:
    """Run of a study -> its folders with the other encodings of its data set.

    Empty unless the study asks for `published_runs_of_other_encodings`. Without runs whose folds
    are combined: these are trained.
    """
    if not plan.studies[study].published_runs_of_other_encodings:
        return {}
    folds = combinations(plan, study).values()
    combined = {run.folder for together in folds for run in together.runs}
    found = defaultdict(list)
    for other in _in_other_encodings(plan, study):
        for row, there in zip(plan.rows(study), other.rows(study), strict=True):
            here, name = plan.run(row).folder, other.run(there).folder
            if name != here and here not in combined:
                found[here].append(name)
    return dict(found)


def measured(plan: Plan, row: Row) -> Shifts:
    """How far another encoding moves the scores of a row's run.

    Raises:
        UserError: it is not measured for the row's data set and network.
    """
    known, asked = _record(plan), (row.dataset, row.network)
    if asked not in known:
        there = ", ".join(" with ".join(each) for each in known) or "none"
        raise UserError(
            f"{plan.file(row.study)}: published_runs_of_other_encodings: no shift of scores is "
            f"measured for {' with '.join(asked)}; allowed (in {RECORD}): {there}"
        )
    return known[asked]


def in_words(shifts: Shifts) -> str:
    """`recall_at_1: 0.70 points, map_at_r: 0.30 points, by 4 encodings in ...`"""
    encodings = counted(max(freedom for _, freedom in shifts.values()), "encoding")
    moved = ", ".join(f"{metric}: {size:.2f} points" for metric, (size, _) in shifts.items())
    return f"{moved}, by {encodings} in {RECORD}"


def _in_other_encodings(plan: Plan, study: str) -> Iterator[Plan]:
    """The plan of a study with each other encoding of its data sets, and with the archives' own."""
    datasets = {row.dataset for row in plan.rows(study)}
    chosen = plan.configuration.data.alternatives
    encodings = {name: plan.datasets[name].encodings for name in datasets}
    for encoding in sorted({"", *(each for named in encodings.values() for each in named)}):
        others = {name: encoding for name in datasets if encoding in encodings[name]}
        kept = {
            name: choice
            for name, choice in chosen.items()
            if choice not in plan.datasets[name].encodings
        }
        if kept | others != chosen:
            data = plan.configuration.data.model_copy(update={"alternatives": kept | others})
            changes = {"data": data, "studies": [study]}
            yield Plan(plan.configuration.model_copy(update=changes), plan.folder)


@once
def _record(plan: Plan) -> dict[tuple[str, str], Shifts]:
    """Data set and network -> the measured shifts; empty without a record."""
    path = plan.folder.parent / RECORD
    if not path.exists():
        return {}
    record = json.loads(path.read_text(encoding="utf-8"))
    moved = [each["shifts"] for name, each in record["encodings"].items() if name != _OURS]
    shifts = {}
    for metric in _METRICS if moved else ():
        squares = [row[metric] ** 2 for rows in moved for row in rows.values()]
        shifts[metric] = ((sum(squares) / len(squares)) ** 0.5, len(moved))
    return {(record["dataset"], record["network"]): shifts} if moved else {}

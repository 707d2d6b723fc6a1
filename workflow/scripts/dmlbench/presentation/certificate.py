"""The page of a certificate: which published runs were trained again, where, and their scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dmlbench.files import write_csv
from dmlbench.plan.records import ran_on
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table, write
from dmlbench.statistics.aggregation import FILE, collect, read_scores, row_of
from dmlbench.statistics.certificate import VERDICTS, by_run, compare, read_noise
from dmlbench.words import counted

_COLUMNS = (
    *(Column(verdict, verdict, "Scores", decimals=0) for verdict in VERDICTS),
    Column("largest", "largest difference, points"),
)


def write_certificate(
    rows: Sequence[Mapping[str, Any]],
    scores: Sequence[str | Path],
    histories: Sequence[str | Path],
    facts: Mapping[str, Any],
    *,
    published: Path,
    csv: Path,
    md: Path,
) -> None:
    """Write what `statistics.certificate.compare` gives as CSV, and a page about it as Markdown.

    Args:
        rows, scores: the drawn runs, as `aggregation.collect` takes them.
        histories: of the drawn runs.
        facts: `study` and its `title`; of its runs `published`, `same` (of these, those that would
            be trained now as they were then), `drawn` and `searched` (of these, those with values
            of a search).
        published: the folder of the published study.
    """
    again = collect(rows, scores)
    noise = read_noise(published.parent, again["dataset"].unique())
    compared = compare(read_scores(published / FILE), again, noise)
    write_csv(csv, compared)
    there = list(ran_on.lines(ran_on.read(published / ran_on.FILE))) or ["not written down"]
    notes = [
        *(f"Published runs ran on: {line}." for line in there),
        *(f"Here: {line}." for line in ran_on.lines(ran_on.counts(histories))),
    ]
    write(_table(compared, rows, facts, notes), md=md)


def _table(
    compared: pd.DataFrame, rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], notes
) -> Table:
    names = {row["run"]: str(row_of(row)) for row in rows}
    found = by_run(compared).loc[list(names)].assign(label=list(names.values()))
    total = compared["verdict"].value_counts()
    said = ", ".join(f"{total.get(verdict, 0):,} {verdict}" for verdict in VERDICTS)
    caption = f"{_drawn(facts)} Of {len(compared):,} scores: {said}. {_NOISE}"
    view = Kind(id=f"{facts['study']}_certificate", title=f"Trained again: {facts['title']}")
    return view.listed("Run", _COLUMNS, found.to_dict("records"), caption, notes)


_NOISE = (
    "Within the noise of seeds: as near as two seeds are in 95 of 100 cases, by the deviation over "
    "seeds of all published studies with the same images, network, size and metric."
)


def _drawn(facts: Mapping[str, Any]) -> str:
    searched = (
        f" {facts['searched']} of them with values of a search, which was not repeated unless its "
        "trials were made here."
        if facts["searched"]
        else ""
    )
    return (
        f"{counted(facts['drawn'], 'run')} of {facts['same']}, drawn by the digests of their "
        f"names, of the {facts['published']} published runs of {facts['study']}.{searched}"
    )

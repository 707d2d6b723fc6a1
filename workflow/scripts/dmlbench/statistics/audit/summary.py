"""The audit in Markdown: what was checked, how many cells agree, and what does not."""

from collections.abc import Iterable, Mapping

import pandas as pd

from dmlbench.statistics.audit.check import AGREES, SURE

_MANY = 10
_SAYS = {
    "certain": "arithmetic allows nothing else",
    "likely": "follows from an assumption that is named",
    "note": "says where to look",
}


def summary(study: str, frame: pd.DataFrame, rules: Mapping[str, str], remarks: Mapping) -> str:
    """One study's audit.

    Args:
        frame: every check, with the columns of `audit.COLUMNS`.
        rules: name of each rule -> its title.
        remarks: name of a rule -> lines of Markdown that its section opens with.
    """
    findings = frame[frame["kind"] != AGREES]
    lines = [f"# Printed numbers of {study}, checked", ""]
    lines += [f"{len(frame):,} checks, {len(findings)} findings: {_sure(findings)}.", ""]
    lines += ["| rule | checked | agree | findings |", "|:--|--:|--:|--:|"]
    for rule, title in rules.items():
        own = frame[frame["rule"] == rule]
        if len(own):
            wrong = int((own["kind"] != AGREES).sum())
            lines.append(f"| {title} | {len(own):,} | {len(own) - wrong:,} | {wrong} |")
    for rule, title in rules.items():
        own = findings[findings["rule"] == rule]
        if len(own) or remarks.get(rule):
            lines += ["", f"## {title}", ""]
            lines += remarks.get(rule, [])
            if len(own):
                lines += ["", *_table(own)] if remarks.get(rule) else _table(own)
    return "\n".join([*lines, ""])


def summary_of_all(frames: Iterable[pd.DataFrame]) -> str:
    """How many findings each study has, by kind."""
    frames = list(frames)
    lines = ["# Printed numbers of all documents, checked", ""]
    lines += ["| document | checks | findings | certain | likely | note |"]
    lines += ["|:--|--:|--:|--:|--:|--:|"]
    for frame in frames:
        findings = frame[frame["kind"] != AGREES]
        counts = [int((findings["sure"] == sure).sum()) for sure in SURE]
        lines.append(
            f"| {frame['study'].iloc[0]} | {len(frame):,} | {len(findings)} "
            f"| {' | '.join(map(str, counts))} |"
        )
    findings = pd.concat(frames)
    findings = findings[findings["kind"] != AGREES]
    lines += ["", "How sure: " + "; ".join(f"*{sure}*: {_SAYS[sure]}" for sure in SURE) + ".", ""]
    studies = list(dict.fromkeys(frame["study"].iloc[0] for frame in frames))
    lines += [f"| kind | {' | '.join(studies)} |", "|:--|" + "--:|" * len(studies)]
    for kind, own in findings.groupby("kind", sort=True):
        counts = [int((own["study"] == study).sum()) for study in studies]
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    return "\n".join([*lines, ""])


def _sure(findings: pd.DataFrame) -> str:
    counts = findings["sure"].value_counts()
    return ", ".join(f"{counts.get(sure, 0)} {sure} ({_SAYS[sure]})" for sure in SURE)


def _table(findings: pd.DataFrame) -> list[str]:
    """Findings as one table; where many share a sentence, one table under each sentence."""
    sentences = findings["explanation"].nunique()
    if sentences > 1 and len(findings) < _MANY * sentences:
        return _rows(findings, [*findings["explanation"]])
    lines = []
    for explanation, own in findings.groupby("explanation", sort=False):
        lines += [explanation, "", *_rows(own, None), ""]
    return lines[:-1]


def _rows(findings: pd.DataFrame, reasons: list[str] | None) -> list[str]:
    columns = ["table", "cell", "printed", "recomputed", "kind", "how sure"]
    columns += [] if reasons is None else ["why"]
    lines = [f"| {' | '.join(columns)} |", "|:--|:--|--:|--:|" + ":--|" * (len(columns) - 4)]
    for number, row in enumerate(findings.itertuples()):
        cell = ", ".join(filter(None, [row.method, row.variant, row.dataset, row.metric]))
        fields = [row.table, cell, row.printed, row.recomputed, row.kind, row.sure]
        fields += [] if reasons is None else [reasons[number]]
        lines.append(f"| {' | '.join(fields)} |")
    return lines

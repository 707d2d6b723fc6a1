"""The audit in Markdown: what was checked, how many cells agree, and what does not."""

from collections.abc import Iterable, Mapping

import pandas as pd

from dmlbench.statistics.audit.check import BLAMED, SURE
from dmlbench.statistics.audit.defects import defects_of, findings_of, says

_MANY = 10
_SAYS = {
    "certain": "arithmetic allows nothing else",
    "likely": "follows from an assumption that is named",
    "note": "says where to look",
}
_HOW_SURE = (
    "Findings with one cause are one defect. How sure: "
    + "; ".join(f"*{sure}*: {meaning}" for sure, meaning in _SAYS.items())
    + "."
)


def summary(study: str, frame: pd.DataFrame, rules: Mapping[str, str], remarks: Mapping) -> str:
    """One study's audit.

    Args:
        frame: every check, with the columns of `audit.COLUMNS`.
        rules: name of each rule -> its title.
        remarks: name of a rule -> lines of Markdown that its section opens with.
    """
    findings, defects = findings_of(frame), defects_of(frame)
    lines = [f"# Printed numbers of {study}, checked", ""]
    lines += [f"{len(frame):,} checks, {says(defects)}. {_HOW_SURE}", ""]
    lines += ["| rule | checked | agree | defects |", "|:--|--:|--:|--:|"]
    for rule, title in rules.items():
        own = frame[frame["rule"] == rule]
        if len(own):
            agree = len(own) - int((findings["rule"] == rule).sum())
            count = int((defects["rule"] == rule).sum())
            lines.append(f"| {title} | {len(own):,} | {agree:,} | {count} |")
    for rule, title in rules.items():
        own = findings[findings["rule"] == rule]
        if len(own) or remarks.get(rule):
            lines += ["", f"## {title}", ""]
            lines += remarks.get(rule, [])
            if len(own):
                lines += ["", *_table(own)] if remarks.get(rule) else _table(own)
    return "\n".join([*lines, ""])


def summary_of_all(frames: Iterable[pd.DataFrame]) -> str:
    """How many defects each study has, by how sure they are, what they blame, and rule."""
    frames = list(frames)
    defects = [defects_of(frame) for frame in frames]
    studies = [frame["study"].iloc[0] for frame in frames]
    every = pd.concat(defects, ignore_index=True)
    lines = ["# Printed numbers of all documents, checked", ""]
    lines += [f"{sum(map(len, frames)):,} checks, {says(every)}. {_HOW_SURE}", ""]
    lines += [f"| document | checks | defects | {' | '.join(SURE)} | {' | '.join(BLAMED)} |"]
    lines += ["|:--" + "|--:" * (2 + len(SURE) + len(BLAMED)) + "|"]
    for study, frame, own in zip(studies, frames, defects, strict=True):
        counts = [int((own["sure"] == sure).sum()) for sure in SURE]
        counts += [int((own["blames"] == blamed).sum()) for blamed in BLAMED]
        lines.append(f"| {study} | {len(frame):,} | {len(own)} | {' | '.join(map(str, counts))} |")
    lines += ["", f"| rule | {' | '.join(studies)} |", "|:--|" + "--:|" * len(studies)]
    for rule, of_rule in every.groupby("rule", sort=True):
        counts = [int((of_rule["study"] == study).sum()) for study in studies]
        lines.append(f"| {rule.replace('_', ' ')} | {' | '.join(map(str, counts))} |")
    return "\n".join([*lines, ""])


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
    columns = ["table", "cell", "printed", "recomputed", "blames", "how sure"]
    columns += [] if reasons is None else ["why"]
    lines = [f"| {' | '.join(columns)} |", "|:--|:--|--:|--:|" + ":--|" * (len(columns) - 4)]
    for number, row in enumerate(findings.itertuples()):
        cell = ", ".join(filter(None, [row.method, row.variant, row.dataset, row.metric]))
        fields = [row.table, cell, row.printed, row.recomputed, row.blames, row.sure]
        fields += [] if reasons is None else [reasons[number]]
        lines.append(f"| {' | '.join(fields)} |")
    return lines

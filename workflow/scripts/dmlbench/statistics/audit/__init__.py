"""The printed numbers of a document, checked by general rules.

A rule is a function that gives one `Check` for each checked item of a document, right or wrong (see
`check.Rule`). No rule names a document, a table or a cell: what rules must know besides the printed
tables is in the document's `audit.yaml` (see `metadata`).
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError as UserError
from dmlbench.files import write_csv, write_text
from dmlbench.statistics.audit.check import AGREES, FORMULA, Check
from dmlbench.statistics.audit.curves import falling_recall, precision_and_map, recall_curves
from dmlbench.statistics.audit.defects import defects_of, says
from dmlbench.statistics.audit.derived import bold, means, ranks
from dmlbench.statistics.audit.document import Document, read_document
from dmlbench.statistics.audit.limits import bounds
from dmlbench.statistics.audit.repetitions import repeated, reruns
from dmlbench.statistics.audit.shares import whole_queries
from dmlbench.statistics.audit.spreads import twins, zero_spread
from dmlbench.statistics.audit.stated import facts, formulas, search_grid
from dmlbench.statistics.audit.summary import summary, summary_of_all

COLUMNS = ["study", "rule", "defect", *(name for name in Check._fields if name != "cause")]

_RULES = (
    falling_recall,
    bounds,
    formulas,
    precision_and_map,
    ranks,
    means,
    repeated,
    reruns,
    bold,
    search_grid,
    zero_spread,
    twins,
    whole_queries,
    recall_curves,
    facts,
)
RULES = {rule.name: rule.title for rule in _RULES}
"""Name of each rule -> what it checks."""


def audit(
    reference: str | os.PathLike, output_csv: str | os.PathLike, output_md: str | os.PathLike
) -> None:
    """Check the printed numbers of one document and write every check and a summary.

    Args:
        reference: the folder with its `table_*.csv` and `audit.yaml`.
        output_csv: every check, with the columns of `audit_frame`.
        output_md: for each rule what was checked, how many agree, and the findings.

    Raises:
        UserError: no printed table; the metadata is missing, wrong, or names cells that do not
            exist.
    """
    document = read_document(reference)
    frame = audit_frame(document)
    remarks = {
        rule.name: rule.remarks(document)
        for rule in _RULES
        if rule.remarks and (frame["rule"] == rule.name).any()
    }
    write_csv(output_csv, frame)
    write_text(output_md, summary(document.study, frame, RULES, remarks))


def audit_frame(document: Document) -> pd.DataFrame:
    """Every check of every rule as one frame of strings.

    Returns:
        study, rule and the fields of `Check`: `kind` is `agrees`, or the kind of finding. `defect`
        is the id that findings with one cause share, the same in every audit; empty for a check
        that agrees.
    """
    rows = [
        {"study": document.study, "rule": rule.name, "defect": _defect(document, rule.name, check)}
        | check._asdict()
        for rule in _RULES
        for check in rule.check(document)
    ]
    return pd.DataFrame(rows, columns=COLUMNS, dtype=str)


def _defect(document: Document, rule: str, check: Check) -> str:
    if check.kind == AGREES:
        return ""
    if check.blames == FORMULA:
        # Numbers of several tables and a law of its own can contradict one formula.
        return f"{document.study}: {check.cause}"
    return f"{document.study}: {rule}: {check.cause or check.where()}"


def audit_all(
    audits: Sequence[str | os.PathLike],
    output_csv: str | os.PathLike,
    output_md: str | os.PathLike,
) -> None:
    """Combine the audits of several documents.

    Args:
        audits: the CSV files that `audit` wrote.
        output_csv: their rows.
        output_md: the number of findings by document and kind.
    """
    frames = [pd.read_csv(Path(path), dtype=str, keep_default_na=False) for path in audits]
    write_csv(output_csv, pd.concat(frames))
    write_text(output_md, summary_of_all(frames))


def counted(csv: str | os.PathLike, md: str | os.PathLike) -> list[str]:
    """Lines for the terminal: the defects of each document, and which file to open.

    Args:
        csv, md: what `audit_all` wrote.
    """
    frame = pd.read_csv(csv, dtype=str, keep_default_na=False)
    lines = [f"{study}: {says(defects_of(own))}" for study, own in frame.groupby("study")]
    return [*lines, f"{md}: the counts; {csv}: every check, and why"]

"""The printed numbers of a document, checked by general rules.

A rule is a module with `TITLE`, what it checks in a few words, and `check(document)`, which gives
one `Check` for each checked item, right or wrong; `remarks(document)` may add lines to the summary.
No rule names a document, a table or a cell: what rules must know besides the printed tables is in
the document's `audit.yaml` (see `metadata`).
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError as UserError
from dmlbench.files import write_csv, write_text
from dmlbench.statistics.audit import (
    bold,
    bounds,
    facts,
    falling_recall,
    formulas,
    means,
    precision_and_map,
    ranks,
    recall_curves,
    repeated,
    reruns,
    search_grid,
    twins,
    whole_queries,
    zero_spread,
)
from dmlbench.statistics.audit.check import AGREES, FORMULA, Check
from dmlbench.statistics.audit.defects import defects_of, says
from dmlbench.statistics.audit.document import Document, read_document
from dmlbench.statistics.audit.summary import summary, summary_of_all

COLUMNS = ["study", "rule", "defect", *(name for name in Check._fields if name != "cause")]

_MODULES = (
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
_RULES = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
RULES = {name: module.TITLE for name, module in _RULES.items()}
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
        name: module.remarks(document)
        for name, module in _RULES.items()
        if hasattr(module, "remarks") and (frame["rule"] == name).any()
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
        {"study": document.study, "rule": name, "defect": _defect(document, name, check)}
        | check._asdict()
        for name, module in _RULES.items()
        for check in module.check(document)
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

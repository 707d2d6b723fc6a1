"""Claims of the text about its tables hold in the tables."""

from collections.abc import Iterator, Mapping

import pandas as pd

from dmlbench.statistics.audit.check import CERTAIN, SENTENCE, Check, place
from dmlbench.statistics.audit.document import Document
from dmlbench.statistics.audit.metadata import Claim
from dmlbench.statistics.audit.selection import (
    Term,
    check_values,
    evaluate,
    numbers_of,
)

TITLE = "Claims of the text about its tables hold in them"
KIND = "claim does not hold"

_SIDES = ("left", "minus", "right")
_SLACK = 1e-9
_HOLDS = {
    "less": lambda difference, within: difference < -_SLACK,
    "at_most": lambda difference, within: difference <= within + _SLACK,
    "equal": lambda difference, within: abs(difference) <= within + _SLACK,
    "at_least": lambda difference, within: difference >= -within - _SLACK,
    "greater": lambda difference, within: difference > _SLACK,
}
_SIGNS = {"less": "<", "at_most": "<=", "equal": "=", "at_least": ">=", "greater": ">"}


def check(document: Document) -> Iterator[Check]:
    """One check per claim and group; `printed` is what is claimed, `recomputed` what is there."""
    for claim in document.metadata.claims:
        what = f"claim {claim.id} of {document.study}"
        cells = {side: _numbers(document, getattr(claim, side), what) for side in _SIDES}
        if not claim.each:
            yield _one(claim, cells, {}, what)
            continue
        parts = {
            side: {} if frame is None else dict(iter(frame.groupby(claim.each, sort=False)))
            for side, frame in cells.items()
        }
        for key in parts["left"]:
            group = dict(zip(claim.each, key, strict=True))
            own = {side: part.get(key) for side, part in parts.items()}
            yield _one(claim, own, group, f"{what} at {', '.join(key)}")


def _numbers(document: Document, term: Term | float | None, what: str) -> pd.DataFrame | None:
    if not isinstance(term, Term):
        return None
    if term.of != "cells":
        # A misspelled coordinate would be a claim about nothing.
        check_values(document.cells, term.where, what)
    return numbers_of(term, document.cells)


def _one(claim: Claim, cells: Mapping, group: dict[str, str], what: str) -> Check:
    left = evaluate(claim.left, cells["left"], what)
    if claim.minus is not None:
        left -= evaluate(claim.minus, cells["minus"], what)
    right = claim.right
    if isinstance(right, Term):
        right = evaluate(right, cells["right"], what)
    where = {key: " / ".join(values) for key, values in claim.left.where.items()} | group
    tables = [group["table"]] if "table" in group else claim.left.where.get("table", [])
    panel = where["panel"] if len(where.get("panel", "")) == 1 else ""
    one = Check(
        table=", ".join(place(table, panel) for table in tables),
        **{key: where.get(key, "") for key in ("method", "variant", "dataset", "metric")},
        printed=f"{_SIGNS[claim.relation]} {_short(right)} (line {claim.line})",
        recomputed=_short(left),
    )
    if _HOLDS[claim.relation](left - right, claim.within):
        return one
    assuming = "" if claim.sure == CERTAIN else f" Assumes {claim.assuming}."
    return one.found(
        KIND,
        claim.sure,
        f"The text says: {claim.says}.{assuming}",
        blames=SENTENCE,
        cause=f"line {claim.line}: {claim.says}",
    )


def _short(number: float) -> str:
    return f"{round(number, 4):g}"

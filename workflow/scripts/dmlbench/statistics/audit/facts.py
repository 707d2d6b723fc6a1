"""A document that states a fact twice states it alike."""

import math
from collections.abc import Iterator

from dmlbench.statistics.audit.check import CERTAIN, SENTENCE, Check
from dmlbench.statistics.audit.document import Document, StatedFact, Statement

TITLE = "Settings and sizes that are stated twice agree"
KIND = "statements differ"


def check(document: Document) -> Iterator[Check]:
    """One check per statement after the first of each fact."""
    for fact in document.metadata.facts:
        for other in fact.stated[1:]:
            yield _pair(fact, fact.stated[0], other)


def _pair(fact: StatedFact, first: Statement, other: Statement) -> Check:
    one = Check(
        metric=fact.id,
        printed=f"{_text(first)} ({first.where})",
        recomputed=f"{_text(other)} ({other.where})",
    )
    if _agree(_value(first), _value(other), fact.within):
        return one
    assuming = "" if fact.sure == CERTAIN else f" Assumes {fact.assuming}."
    return one.found(
        KIND,
        fact.sure,
        f"Two places differ in {fact.says}.{assuming}",
        blames=SENTENCE,
        cause=fact.id,
    )


def _value(statement: Statement) -> float | str:
    if statement.sum is not None:
        return sum(statement.sum)
    if statement.product is not None:
        return math.prod(statement.product)
    if statement.ratio is not None:
        return statement.ratio[0] / statement.ratio[1]
    return statement.value


def _text(statement: Statement) -> str:
    if statement.sum is not None:
        return f"{' + '.join(f'{part:g}' for part in statement.sum)} = {_value(statement):,g}"
    if statement.product is not None:
        return f"{' x '.join(f'{part:g}' for part in statement.product)} = {_plain(statement)}"
    if statement.ratio is not None:
        return f"{statement.ratio[0]:.0f} / {statement.ratio[1]:.0f} = {_value(statement):.2f}"
    return _plain(statement)


def _plain(statement: Statement) -> str:
    value = _value(statement)
    return value if isinstance(value, str) else f"{value:,.10g}"


def _agree(first: float | str, other: float | str, within: float) -> bool:
    if isinstance(first, str) or isinstance(other, str):
        return first == other
    return math.isclose(first, other, rel_tol=within, abs_tol=1e-9)

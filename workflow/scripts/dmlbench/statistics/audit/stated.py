"""What a document says in words: facts, formulas, and the grids of its searches."""

import math
from collections.abc import Iterator, Mapping

from dmlbench.errors import UserError
from dmlbench.statistics.audit.check import CERTAIN, FORMULA, LIKELY, SENTENCE, Check, place, rule
from dmlbench.statistics.audit.document import Document, Law, StatedFact, Statement

_NEAR = 1e-6


@rule("Printed formulas have the values that they must have", kind="misprinted formula")
def formulas(document: Document) -> Iterator[Check]:
    """One check per law of a formula."""
    for law in document.metadata.formulas:
        value, wanted = (_value_of(text, law) for text in (law.value, law.must_be))
        one = Check(
            metric=law.formula, printed=f"{value:.4g} (line {law.line})", recomputed=f"{wanted:.4g}"
        )
        if abs(value - wanted) <= _NEAR * max(1.0, abs(wanted)):
            yield one
        else:
            yield one.found(CERTAIN, f"{law.says}.", blames=FORMULA, cause=law.formula)


def _value_of(text: str, law: Law) -> float:
    # Loading takes as long as all other rules, and only documents with formulas need it.
    import sympy

    names: Mapping[str, sympy.Expr] = {}
    try:
        for name, expression in law.given.items():
            names = {**names, name: sympy.sympify(expression, locals=dict(names))}
        point = {sympy.Symbol(name): value for name, value in law.at.items()}
        return float(
            sympy.sympify(text, locals=dict(names)).doit(integrals=False).subs(point).evalf()
        )
    except (sympy.SympifyError, TypeError) as error:
        raise UserError(
            f"formula {law.formula}: {text!r} is not a number at {law.at} ({error}); allowed: an "
            "expression of the names in given and at"
        ) from None


@rule("A search's optimum is on its grid", kind="off the grid")
def search_grid(document: Document) -> Iterator[Check]:
    """One check per printed search with a range, a step and an optimum."""
    for row in document.searches.itertuples():
        low, high = (float(end) for end in row.range.strip("[]()").split(","))
        step, optimum = float(row.step), float(row.optimal_value)
        one = Check(
            table=place(row.table),
            method=row.method,
            metric=row.hyperparameter,
            printed=row.optimal_value,
            recomputed=f"{row.range} in steps of {row.step}",
        )
        steps = (optimum - low) / step
        inside = low - 1e-9 <= optimum <= high + 1e-9
        if not inside or not math.isclose(steps, round(steps), abs_tol=1e-6):
            one = one.found(
                LIKELY,
                "No whole number of steps leads to it; assumes that the steps start at the end "
                "of the printed range.",
            )
        yield one


@rule("Settings and sizes that are stated twice agree", kind="statements differ")
def facts(document: Document) -> Iterator[Check]:
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

"""A printed formula has the values that it must have by its own definition."""

from collections.abc import Iterator, Mapping

from dmlbench.errors import UserError
from dmlbench.statistics.audit.check import CERTAIN, FORMULA, Check
from dmlbench.statistics.audit.document import Document, Law

TITLE = "Printed formulas have the values that they must have"
KIND = "misprinted formula"

_NEAR = 1e-6


def check(document: Document) -> Iterator[Check]:
    """One check per law of a formula."""
    for law in document.metadata.formulas:
        value, wanted = (_value(text, law) for text in (law.value, law.must_be))
        one = Check(
            metric=law.formula, printed=f"{value:.4g} (line {law.line})", recomputed=f"{wanted:.4g}"
        )
        if abs(value - wanted) <= _NEAR * max(1.0, abs(wanted)):
            yield one
        else:
            yield one.found(KIND, CERTAIN, f"{law.says}.", blames=FORMULA, cause=law.formula)


def _value(text: str, law: Law) -> float:
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

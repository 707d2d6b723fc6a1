"""A comparison of a claim as one weighted sum of the cells that the evidence has."""

from collections.abc import Callable, Sequence

from dmlbench.plan.claims import Cell, Claim
from dmlbench.statistics.claims.contrasts import Comparison, Pair, Term
from dmlbench.statistics.claims.decisions import NOISE
from dmlbench.statistics.claims.evidence import Evidence, Weights


def weights_of(
    claim: Claim, each: Comparison, evidence: Evidence, scales: Callable[[Cell], float]
) -> dict[Cell, float] | None:
    """The sum that a comparison is, over its pairs that are there; None if none is."""
    parts = [
        weights for pair in each if (weights := _of_pair(claim, pair, evidence, scales)) is not None
    ]
    return summed(parts, 1 / len(parts)) if parts else None


def _of_pair(
    claim: Claim, pair: Pair, evidence: Evidence, scales: Callable[[Cell], float]
) -> dict[Cell, float] | None:
    """The sum that a pair is, of the cells that are there; None if a side has none."""
    total: dict[Cell, float] = {}
    for side, how, sign in ((pair.arm, claim.arm_is, 1), (pair.control, claim.control_is, -1)):
        there = [term for term in side if all(evidence.value(cell) is not None for cell in term)]
        if side and not there:
            return None
        for term in _reduced(there, how, evidence, scales):
            share = sign / (len(there) if how == "mean" else 1)
            for cell, part in zip(term, (1, -1), strict=False):
                total[cell] = total.get(cell, 0.0) + share * part * scales(cell)
    return total


def _reduced(
    terms: list[Term], how: str, evidence: Evidence, scales: Callable[[Cell], float]
) -> list[Term]:
    if how in ("each", "mean") or not terms:
        return terms

    def number(term: Term) -> float:
        return sum(
            part * scales(cell) * evidence.value(cell)
            for cell, part in zip(term, (1, -1), strict=False)
        )

    return [max(terms, key=number) if how == "best" else min(terms, key=number)]


def scales_of(claim: Claim, cells: Sequence[Cell], evidence: Evidence) -> Callable[[Cell], float]:
    """What each cell is multiplied by."""
    if not claim.share_of:
        return lambda cell: 1.0
    largest: dict[tuple, float] = {}

    def group(cell: Cell) -> tuple:
        return cell.table, *(getattr(cell, column) for column in claim.share_of)

    tables = claim.arm.get("table", [])
    for cell in cells:
        value = evidence.value(cell) if cell.table in tables else None
        if value is not None:
            largest[group(cell)] = max(value, largest.get(group(cell), value))
    return lambda cell: 100 / largest.get(group(cell), 100.0)


def without_repeats(
    arms: list[tuple[Comparison, Weights]], evidence: Evidence
) -> list[tuple[Comparison, Weights]]:
    """The comparisons that differ here: on other data, those of several tables are one.

    Of those, the one with the most cells counts. A comparison whose cells are the same here, as of
    two networks, is none.
    """
    kept = {}
    for each, weights in arms:
        own: dict = {}
        for cell, weight in weights.items():
            key = evidence.key(cell)
            own[key] = own.get(key, 0.0) + weight
        if any(abs(weight) > NOISE for weight in own.values()):
            kept.setdefault(_there(each, evidence), (each, weights))
    return [entry for there, entry in kept.items() if not any(there < other for other in kept)]


def _there(each: Comparison, evidence: Evidence) -> frozenset:
    """What a comparison looks at here: the side and the key of each cell that has a number."""
    return frozenset(
        (side, evidence.key(cell))
        for pair in each
        for side, terms in enumerate(pair)
        for term in terms
        for cell in term
        if evidence.value(cell) is not None
    )


def summed(parts: Sequence[Weights], factor: float) -> dict[Cell, float]:
    """The sum of several sums, times a factor."""
    total: dict[Cell, float] = {}
    for weights in parts:
        for cell, weight in weights.items():
            total[cell] = total.get(cell, 0.0) + factor * weight
    return total

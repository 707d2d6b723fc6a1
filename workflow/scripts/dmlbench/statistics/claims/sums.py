"""A comparison of a claim as one weighted sum of the cells that the evidence has."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from dmlbench.plan.studies.claims import Cell, Claim
from dmlbench.statistics.claims.contrasts import Comparison, Pair
from dmlbench.statistics.claims.evidence import Evidence, Weights, by_key


def weights_of(
    claim: Claim, each: Comparison, evidence: Evidence, scales: Callable[[Cell], float]
) -> dict[Cell, float] | None:
    """The sum that a comparison is, over its pairs that are there; None if none is."""
    parts = [
        weights for pair in each if (weights := _of_pair(claim, pair, evidence, scales)) is not None
    ]
    return summed(parts, 1 / len(parts)) if parts else None


def selections_of(
    claim: Claim, each: Comparison, evidence: Evidence, scales: Callable[[Cell], float]
) -> tuple[int, int]:
    """From how many differences the numbers choose one: that is large enough, and small enough.

    The best arm is one of several that may be large enough, the best control one of several that
    may be too large; of a mean over pairs, one of all combinations.
    """
    above = below = 1
    for pair in each:
        arms, controls = map(len, _sides(claim, pair, evidence, scales))
        above *= (arms if claim.arm_is == "best" else 1) * (
            controls if claim.control_is == "worst" else 1
        )
        below *= (arms if claim.arm_is == "worst" else 1) * (
            controls if claim.control_is == "best" else 1
        )
    return above, below


def _of_pair(
    claim: Claim, pair: Pair, evidence: Evidence, scales: Callable[[Cell], float]
) -> dict[Cell, float] | None:
    """The sum that a pair is, of the cells that are there; None if a side has none."""
    arms, controls = _sides(claim, pair, evidence, scales)
    if not arms or not controls:
        return None

    number = functools.partial(_number, evidence=evidence)
    # Controls are subtracted: the smallest sum is that of the best one.
    arm = (min if claim.arm_is == "worst" else max)(arms, key=number)
    control = (max if claim.control_is == "worst" else min)(controls, key=number)
    return summed([arm, control], 1)


def _sides(
    claim: Claim, pair: Pair, evidence: Evidence, scales: Callable[[Cell], float]
) -> tuple[list[Weights], list[Weights]]:
    """The sums that an arm and its control, which is subtracted, may be: several of best ones."""
    sides = []
    for terms, how, sign in ((pair.arm, claim.arm_is, 1), (pair.control, claim.control_is, -1)):
        there = [
            {cell: sign * part * scales(cell) for cell, part in zip(term, (1, -1), strict=False)}
            for term in terms
            if all(evidence.value(cell) is not None for cell in term)
        ]
        if how == "spread":
            there = [summed([one], sign) for one in _spread(there, evidence)]
        elif there and how not in ("best", "worst"):
            there = [summed(there, 1 / len(there) if how == "mean" else 1)]
        sides.append(there if terms else [{}])
    return sides[0], sides[1]


def _spread(terms: Sequence[Weights], evidence: Evidence) -> list[Weights]:
    """The standard deviation over terms as a sum of them; none of fewer than three.

    Its weights (x_i - mean) / ((N - 1) std) are also its derivatives, so the sum's error is that of
    the standard deviation to first order. Terms that are the same number here count once.
    """
    once = list({frozenset(by_key(term, evidence.key).items()): term for term in terms}.values())
    if len(once) < 3:
        return []
    numbers = np.array([_number(term, evidence) for term in once])
    centered = numbers - numbers.mean()
    # The derivative of a spread of nothing is unknown.
    scale = (len(once) - 1) * numbers.std(ddof=1) or np.inf
    parts = [
        {cell: weight / scale * part for cell, part in term.items()}
        for term, weight in zip(once, centered, strict=True)
    ]
    return [summed(parts, 1)]


def _number(weights: Weights, evidence: Evidence) -> float:
    return sum(weight * evidence.value(cell) for cell, weight in weights.items())


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
        if by_key(weights, evidence.key):
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

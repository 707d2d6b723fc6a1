"""A comparison of a claim as one weighted sum of the cells that the evidence has."""

from collections.abc import Callable, Sequence

import numpy as np

from dmlbench.plan.studies.claims import Cell, Claim
from dmlbench.statistics.claims.contrasts import Comparison, Pair
from dmlbench.statistics.claims.evidence import Evidence, Weights, by_key


class Sums:
    """The sums that a claim's comparisons are by some evidence.

    Args:
        cells: all printed cells of its document.
    """

    def __init__(self, claim: Claim, cells: Sequence[Cell], evidence: Evidence):
        self.claim, self.evidence = claim, evidence
        self._scale = _scales_of(claim, cells, evidence)

    def weights(self, each: Comparison) -> dict[Cell, float] | None:
        """The sum that a comparison is, over its pairs that are there; None if none is."""
        parts = [weights for pair in each if (weights := self._of_pair(pair)) is not None]
        return summed(parts, 1 / len(parts)) if parts else None

    def selections(self, each: Comparison) -> tuple[int, int]:
        """From how many differences the numbers choose one: that is large, and small enough.

        The best arm is one of several that may be large enough, the best control one of several
        that may be too large; of a mean over pairs, one of all combinations.
        """
        above = below = 1
        arm_is, control_is = self.claim.arm_is, self.claim.control_is
        for pair in each:
            arms, controls = map(len, self._sides(pair))
            above *= (arms if arm_is == "best" else 1) * (controls if control_is == "worst" else 1)
            below *= (arms if arm_is == "worst" else 1) * (controls if control_is == "best" else 1)
        return above, below

    def _of_pair(self, pair: Pair) -> dict[Cell, float] | None:
        """The sum that a pair is, of the cells that are there; None if a side has none."""
        arms, controls = self._sides(pair)
        if not arms or not controls:
            return None
        # Controls are subtracted: the smallest sum is that of the best one.
        arm = (min if self.claim.arm_is == "worst" else max)(arms, key=self._number)
        control = (max if self.claim.control_is == "worst" else min)(controls, key=self._number)
        return summed([arm, control], 1)

    def _sides(self, pair: Pair) -> tuple[list[Weights], list[Weights]]:
        """The sums that an arm and its control, which is subtracted, may be."""
        sides = []
        of_arm, of_control = (
            (pair.arm, self.claim.arm_is, 1),
            (pair.control, self.claim.control_is, -1),
        )
        for terms, how, sign in (of_arm, of_control):
            there = [
                {
                    cell: sign * part * self._scale(cell)
                    for cell, part in zip(term, (1, -1), strict=False)
                }
                for term in terms
                if all(self.evidence.value(cell) is not None for cell in term)
            ]
            if how == "spread":
                there = [summed([one], sign) for one in self._spread(there)]
            elif there and how not in ("best", "worst"):
                there = [summed(there, 1 / len(there) if how == "mean" else 1)]
            sides.append(there if terms else [{}])
        return sides[0], sides[1]

    def _spread(self, terms: Sequence[Weights]) -> list[Weights]:
        """The standard deviation over terms as a sum of them; none of fewer than three.

        Its weights (x_i - mean) / ((N - 1) std) are also its derivatives, so the sum's error is
        that of the standard deviation to first order. Terms that are the same number here count
        once.
        """
        keyed = {frozenset(by_key(term, self.evidence.key).items()): term for term in terms}
        if len(keyed) < 3:
            return []
        numbers = np.array([self._number(term) for term in keyed.values()])
        centered = numbers - numbers.mean()
        # The derivative of a spread of nothing is unknown.
        scale = (len(keyed) - 1) * numbers.std(ddof=1) or np.inf
        parts = [
            {cell: weight / scale * part for cell, part in term.items()}
            for term, weight in zip(keyed.values(), centered, strict=True)
        ]
        return [summed(parts, 1)]

    def _number(self, weights: Weights) -> float:
        return sum(weight * self.evidence.value(cell) for cell, weight in weights.items())


def _scales_of(claim: Claim, cells: Sequence[Cell], evidence: Evidence) -> Callable[[Cell], float]:
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

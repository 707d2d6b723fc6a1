"""The verdict on one claim by one kind of evidence."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dmlbench.plan.claims import Cell, Claim
from dmlbench.statistics.claims import decisions
from dmlbench.statistics.claims.contrasts import Comparison
from dmlbench.statistics.claims.decisions import EQUIVALENT, INCONCLUSIVE, SUPPORTED, Tests
from dmlbench.statistics.claims.evidence import Evidence, Weights
from dmlbench.statistics.claims.sums import scales_of, summed, weights_of, without_repeats
from dmlbench.statistics.equivalence import ALPHA, Difference, runs_needed

NOT_RUN, NOT_PRINTED, OUT_OF_SCOPE = "not run", "not printed", "out of scope"
VERDICTS = (
    SUPPORTED,
    decisions.CONTRADICTED,
    EQUIVALENT,
    INCONCLUSIVE,
    NOT_RUN,
    NOT_PRINTED,
    OUT_OF_SCOPE,
)
"""Verdicts on a claim, in the order of tables."""

RULE = (
    "A claim is supported or contradicted if a one-sided test at 5 % says so, and equivalent if "
    "two one-sided tests show that the claimed effect is smaller than the smallest that matters; "
    "otherwise it is inconclusive. A claim about all comparisons is supported if each of them is, "
    "and contradicted if one is, or shows no effect, after Holm's correction. Printed numbers have "
    "the noise of margins.csv; a sentence about a printed table is judged by its numbers as they "
    "are. Ours are compared as pairs of one seed, or of one split of the classes where there are "
    "several, or as two samples where pairing gains nothing."
)


class Verdict(NamedTuple):
    """What the evidence says about a claim.

    Attributes:
        comparisons: how many were evaluated; `of`: how many the claim has.
        holds: in how many the numbers alone are as claimed.
        estimate, low, high: the mean difference over the comparisons and its 90 % interval; of a
            correlation, Spearman's coefficient.
        smallest: the smallest effect of interest.
        unit: what differs between repeats: the seed, or the split of the classes.
        repeats: the fewest behind a number; 0 if unknown.
        repeats_needed: how many would decide; missing if it is decided or unknown.
        verdict: one of `VERDICTS`.
    """

    comparisons: int
    of: int
    holds: int
    estimate: float
    low: float
    high: float
    smallest: float
    unit: str
    repeats: int
    repeats_needed: float
    verdict: str


def judge(
    claim: Claim,
    cells: Sequence[Cell],
    built: Sequence[Comparison],
    evidence: Evidence,
    smallest: float,
    *,
    absent: str,
) -> Verdict:
    """The verdict on a claim.

    Args:
        cells: all printed cells of its document.
        built: its comparisons, as `contrasts.comparisons` gives them.
        smallest: the smallest effect of interest.
        absent: the verdict if no comparison is in the evidence.
    """
    if claim.kind == "correlation":
        return _of_correlations(claim, built, evidence, smallest, absent)
    scales = scales_of(claim, cells, evidence)
    arms = [
        (each, weights)
        for each in built
        if (weights := weights_of(claim, each, evidence, scales)) is not None
    ]
    arms = without_repeats(arms, evidence)
    if not arms:
        return _nothing(len(built), smallest, absent)
    estimates = evidence.estimates([weights for _, weights in arms])
    mean = evidence.estimate(summed([weights for _, weights in arms], 1 / len(arms)))
    tested = [mean] if claim.need == "mean" else estimates
    tests = [_tests(claim, each, smallest) for each in tested]
    verdict = _verdict(claim, arms, tests)
    half = stdtrit(mean.freedom, 1 - ALPHA) * mean.error if mean.error else 0.0
    needed = np.nan
    if verdict == INCONCLUSIVE:
        needed = _repeats_needed(claim, [weights for _, weights in arms], evidence, smallest)
    return Verdict(
        comparisons=len(arms),
        of=len(built),
        holds=_holding(claim, arms, estimates, smallest),
        estimate=mean.value,
        low=mean.value - half,
        high=mean.value + half,
        smallest=smallest,
        unit=evidence.unit,
        repeats=min(evidence.repeats(cell) for _, weights in arms for cell in weights),
        repeats_needed=needed,
        verdict=verdict,
    )


def _verdict(claim: Claim, arms: list[tuple[Comparison, Weights]], tests: list[Tests]) -> str:
    if claim.kind != "place":
        need = "all" if claim.need == "mean" else claim.need
        return decisions.combined(decisions.outcomes(tests, need), need)
    verdicts = []
    by_arm = defaultdict(list)
    for test, (each, _) in zip(tests, arms, strict=True):
        by_arm[tuple(pair.arm for pair in each)].append(test)
    for own in by_arm.values():
        both = decisions.outcomes(own, 1.0)
        verdicts.append(decisions.place_among(both, *claim.places))
    return decisions.combined(verdicts, claim.need)


def _tests(claim: Claim, estimate: Difference, smallest: float) -> Tests:
    if claim.kind == "place":
        return decisions.of_difference(estimate, "greater", 0.0, 0.0)
    return decisions.of_difference(estimate, claim.direction, claim.by, smallest)


def _holding(
    claim: Claim,
    arms: list[tuple[Comparison, Weights]],
    estimates: list[Difference],
    smallest: float,
) -> int:
    """In how many comparisons the estimates alone are as claimed; all or none of a place's."""
    exact = [Difference(each.value, 0.0, np.inf) for each in estimates]
    if claim.kind == "place":
        tests = [_tests(claim, each, 0.0) for each in exact]
        return len(arms) if _verdict(claim, arms, tests) == SUPPORTED else 0
    slack = smallest if claim.direction in ("at_least", "at_most", "equal") else 0.0
    return sum(_tests(claim, each, slack).holds == 0 for each in exact)


def _repeats_needed(
    claim: Claim, parts: Sequence[Weights], evidence: Evidence, smallest: float
) -> float:
    """How many repeats show, with 80 % probability, that no effect is none; more than there are.

    Without a smallest effect of interest, the estimated difference stands for it.
    """
    if claim.need == "mean":
        parts = [summed(parts, 1 / len(parts))]
    needed = []
    for weights in parts:
        deviation = evidence.deviation(weights)
        margin = smallest or abs(evidence.estimate(weights).value - claim.by)
        if np.isfinite(deviation) and deviation > 0 and margin > 0:
            needed.append(float(runs_needed(deviation, margin)))
    more = min(map(evidence.repeats, parts[0])) + 1
    return max(*needed, more) if needed else np.nan


def _of_correlations(
    claim: Claim, built: Sequence[Comparison], evidence: Evidence, smallest: float, absent: str
) -> Verdict:
    points = [(each, _points(claim, each, evidence)) for each in built]
    points = [each for each in points if len(each[1]) > 3]
    unlike = {frozenset(evidence.key(cell) for cell, _, _ in each): each for _, each in points}
    unlike = {key: each for key, each in unlike.items() if not any(key < other for other in unlike)}
    if not unlike:
        return _nothing(len(built), smallest, absent)
    correlations = []
    for each in unlike.values():
        x, y = (pd.Series([point[side] for point in each]) for side in (1, 2))
        correlations.append((float(x.corr(y, method="spearman")), len(each)))
    tests = [
        decisions.of_correlation(r, count, claim.direction, claim.by, smallest)
        for r, count in correlations
    ]
    mean = float(np.mean([r for r, _ in correlations]))
    sign = 1 if claim.direction in ("greater", "at_least") else -1
    cells = [cell for each in unlike.values() for cell, _, _ in each]
    return Verdict(
        comparisons=len(correlations),
        of=len(built),
        holds=sum(sign * (r - claim.by) > 0 for r, _ in correlations),
        estimate=mean,
        low=np.nan,
        high=np.nan,
        smallest=smallest,
        unit=evidence.unit,
        repeats=min(map(evidence.repeats, cells)),
        repeats_needed=np.nan,
        verdict=decisions.combined(decisions.outcomes(tests, claim.need), claim.need),
    )


def _points(claim: Claim, each: Comparison, evidence: Evidence) -> list[tuple[Cell, float, float]]:
    """Cells with their number and the one at the other coordinates, each place once."""
    points = {}
    for (cell,) in each[0].arm:
        x, y = evidence.value(cell), evidence.value(cell.with_(**claim.against))
        if x is not None and y is not None:
            points.setdefault(evidence.key(cell), (cell, x, y))
    return list(points.values())


def _nothing(of: int, smallest: float, absent: str) -> Verdict:
    return Verdict(0, of, 0, np.nan, np.nan, np.nan, smallest, "", 0, np.nan, absent)

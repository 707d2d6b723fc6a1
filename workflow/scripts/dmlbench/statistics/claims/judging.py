"""The verdict on one claim by one kind of evidence."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dmlbench.plan.studies.claims import Cell, Claim, Gain
from dmlbench.statistics.claims import decisions
from dmlbench.statistics.claims.contrasts import Comparison, Pair, called, comparisons
from dmlbench.statistics.claims.correlations import of_correlations
from dmlbench.statistics.claims.decisions import (
    INCONCLUSIVE,
    SUPPORTED,
    Shown,
    Tests,
    deciding,
)
from dmlbench.statistics.claims.evidence import Elsewhere, Evidence, Weights
from dmlbench.statistics.claims.sums import Sums, summed, without_repeats
from dmlbench.statistics.claims.verdicts import NOT_PRINTED, VERDICTS, Verdict
from dmlbench.statistics.equivalence import Difference, detectable_difference, runs_needed
from dmlbench.statistics.other_classes import SEED

_ERROR = ("error", "freedom")
_OF_PRINT = ("table", "dataset", "network", "embedding_dim")
"""Coordinates of a printed cell that scores on other data do not have."""


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
        return of_correlations(claim, built, evidence, smallest, absent)
    sums, of = Sums(claim, cells, evidence), len(built)
    arms = [(each, weights) for each in built if (weights := sums.weights(each)) is not None]
    arms = without_repeats(arms, evidence)
    if not arms:
        return Verdict(of=of, smallest=smallest, verdict=absent)
    parts = [weights for _, weights in arms]
    estimates, whole = evidence.estimates(parts), summed(parts, 1 / len(parts))
    mean = evidence.estimate(whole)
    chosen = [sums.selections(each) for each, _ in arms]
    together = Shown(mean, *(math.prod(counts) for counts in zip(*chosen, strict=True)))
    shown = [together]
    if claim.need != "mean":
        shown = [Shown(one, *tests) for one, tests in zip(estimates, chosen, strict=True)]
    low, high = together.interval()
    tests = [_tests(claim, each, smallest) for each in shown]
    verdict = _verdict(claim, arms, tests)
    decides = None if claim.kind == "place" else deciding(tests, claim.need, verdict)
    needed = np.nan
    if verdict == INCONCLUSIVE and evidence.unit(whole) == SEED:
        needed = _repeats_needed(claim, parts, evidence, smallest)
    return Verdict(
        comparisons=len(arms),
        of=of,
        holds=_holding(claim, arms, estimates, smallest),
        estimate=mean.value,
        low=low,
        high=high,
        smallest=smallest,
        detects=_detected([mean] if claim.need == "mean" else estimates),
        unit=evidence.unit(whole),
        repeats=min(evidence.repeats(cell) for weights in parts for cell in weights),
        repeats_needed=needed,
        decides=""
        if decides is None
        else _described(shown[decides], arms[decides][0], built, evidence),
        verdict=verdict,
    )


def scale(
    gain: Gain, claim: Claim, cells: Sequence[Cell], printed: Evidence, evidence: Evidence
) -> float | None:
    """What training adds by other evidence, as a share of what it adds in print; None if unknown.

    Args:
        gain: the cells with and without training.
        claim: gives the metric.
        cells: all printed cells of the document.
    """
    metric = {"metric": claim.arm["metric"]} if "metric" in claim.arm else {}
    added = claim.model_copy(
        update={
            "arm": gain.arm | metric,
            "control": gain.control,
            "but": None,
            "each": [],
            "over": [],
            "along": {},
            "share_of": [],
            "kind": "difference",
            "arm_is": "each",
            "control_is": "each",
        }
    )
    built = comparisons(added, cells)
    means = []
    for each in (printed, evidence):
        parts = map(Sums(added, cells, each).weights, built)
        known = [each.estimate(weights).value for weights in parts if weights is not None]
        means.append(np.mean(known) if known else np.nan)
    share = means[1] / means[0]
    return float(share) if share > 0 else None


def one_by_one(
    claim: Claim,
    cells: Sequence[Cell],
    built: Sequence[Comparison],
    evidence: Evidence,
    smallest: float,
) -> str:
    """The verdicts on a claim at each place that it averages over, counted; empty for one place.

    Other data are one place: so print is judged there by the same rule.

    Args: as `judge` takes them.
    """
    places: dict[tuple, list[Comparison]] = {}
    for each in built:
        here: dict[tuple, list[Pair]] = {}
        for pair in each:
            here.setdefault(tuple(getattr(pair.arm[0][0], name) for name in claim.over), []).append(
                pair
            )
        for place, pairs in here.items():
            places.setdefault(place, []).append(tuple(pairs))
    if len(places) < 2:
        return ""
    found = [
        judge(claim, cells, own, evidence, smallest, absent=NOT_PRINTED).verdict
        for own in places.values()
    ]
    counted = [(found.count(verdict), verdict) for verdict in VERDICTS[:4]]
    return ", ".join(f"{count} {verdict}" for count, verdict in counted if count)


def _described(
    shown: Shown, each: Comparison, built: Sequence[Comparison], evidence: Evidence
) -> str:
    """A comparison with its difference, and its interval if it has one."""
    low, high = shown.interval()
    interval = f" [{low:.2f}, {high:.2f}]" if high > low else ""
    hidden = _OF_PRINT if isinstance(evidence, Elsewhere) else ()
    return f"{called(each, built, hidden=hidden)}: {shown.difference.value:.2f}{interval}"


def _detected(estimates: Sequence[Difference]) -> float:
    """The median over comparisons of what a one-sided test shows; missing where all is known."""
    known = [each for each in estimates if each.error > 0]
    errors, freedom = (np.array([getattr(each, name) for each in known]) for name in _ERROR)
    return float(np.median(detectable_difference(errors, freedom))) if known else np.nan


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


def _tests(claim: Claim, shown: Shown, smallest: float) -> Tests:
    if claim.kind == "place":
        return decisions.of_difference(shown, "greater", 0.0, 0.0)
    return decisions.of_difference(shown, claim.direction, claim.by, smallest)


def _holding(
    claim: Claim,
    arms: list[tuple[Comparison, Weights]],
    estimates: list[Difference],
    smallest: float,
) -> int:
    """In how many comparisons the estimates alone are as claimed; all or none of a place's."""
    exact = [Shown(Difference(each.value, 0.0, np.inf)) for each in estimates]
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
            needed.append(float(runs_needed(deviation, margin, alpha=decisions.ALPHA)))
    more = min(map(evidence.repeats, parts[0])) + 1
    return max(*needed, more) if needed else np.nan

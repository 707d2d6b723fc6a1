"""The verdict on a claim about a correlation over losses."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dmlbench.plan.studies.claims import Cell, Claim
from dmlbench.statistics.claims import decisions
from dmlbench.statistics.claims.contrasts import Comparison
from dmlbench.statistics.claims.evidence import Evidence
from dmlbench.statistics.claims.verdicts import Verdict
from dmlbench.statistics.other_classes import LOSS


def of_correlations(
    claim: Claim, built: Sequence[Comparison], evidence: Evidence, smallest: float, absent: str
) -> Verdict:
    """The verdict on a correlation, the mean over comparisons; arguments as `judging.judge` has."""
    points = [(each, _points(claim, each, evidence)) for each in built]
    points = [each for each in points if len(each[1]) > 3]
    unlike = {frozenset(evidence.key(cell) for cell, _, _ in each): each for _, each in points}
    unlike = {key: each for key, each in unlike.items() if not any(key < other for other in unlike)}
    if not unlike:
        return Verdict(of=len(built), smallest=smallest, verdict=absent)
    correlations = []
    for each in unlike.values():
        x, y = (pd.Series([point[side] for point in each]) for side in (1, 2))
        correlations.append((float(x.corr(y, method="spearman")), len(each)))
    tests = [
        decisions.of_correlation(r, count, claim.direction, claim.by, smallest)
        for r, count in correlations
    ]
    mean = float(np.mean([r for r, _ in correlations]))
    low, high = decisions.interval_of_correlation(mean, min(count for _, count in correlations))
    sign = 1 if claim.direction in ("greater", "at_least") else -1
    cells = [cell for each in unlike.values() for cell, _, _ in each]
    return Verdict(
        comparisons=len(correlations),
        of=len(built),
        holds=sum(sign * (r - claim.by) > 0 for r, _ in correlations),
        estimate=mean,
        low=low,
        high=high,
        smallest=smallest,
        unit=LOSS,
        repeats=min(map(evidence.repeats, cells)),
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

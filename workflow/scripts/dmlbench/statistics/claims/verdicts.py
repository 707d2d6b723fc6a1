"""What a verdict on a claim is, and the rule by which it is found."""

from typing import NamedTuple

import numpy as np

from dmlbench.statistics.claims.decisions import (
    CONTRADICTED,
    EQUIVALENT,
    INCONCLUSIVE,
    SUPPORTED,
)

NOT_RUN, NOT_PRINTED, OUT_OF_SCOPE = "not run", "not printed", "out of scope"
VERDICTS = (
    SUPPORTED,
    CONTRADICTED,
    EQUIVALENT,
    INCONCLUSIVE,
    NOT_RUN,
    NOT_PRINTED,
    OUT_OF_SCOPE,
)
"""Verdicts on a claim, in the order of tables."""

RULE = (
    "A claim is supported or contradicted if a one-sided test at 2.5 % says so, and equivalent if "
    "two of them show that the claimed effect is smaller than the smallest that matters, even "
    "where it is shown to be there; otherwise it is inconclusive. A claim about all comparisons "
    "is supported if each of them is, and contradicted if one is, or shows no effect, after "
    "Holm's correction. Printed numbers have the noise of margins.csv; a sentence about a printed "
    "table is judged by its numbers as they are. Ours on one split of the classes are compared as "
    "pairs of one seed, or as two samples where pairing gains nothing, and hold for other seeds "
    "on the same classes. Ours on several splits are estimated for other classes: by the scores "
    "of each class, or, where only those of each split are known, with the error of splits of "
    "the same classes. Which of several arms is best is part of the test. A correlation is over "
    "losses, and holds for other losses."
)


class Verdict(NamedTuple):
    """What the evidence says about a claim.

    Attributes:
        comparisons: how many were evaluated; `of`: how many the claim has.
        holds: in how many the numbers alone are as claimed.
        estimate, low, high: the mean difference over the comparisons and its 95 % interval; of a
            correlation, Spearman's coefficient and Fisher's interval.
        smallest: the smallest effect of interest.
        detects: the true difference that a comparison would show with a probability of 80 %; the
            median over comparisons.
        unit: what repeats behind the interval (`other_classes.ABOUT`).
        repeats: the fewest behind a number; 0 if unknown.
        repeats_needed: how many seeds would decide; missing if it is decided or unknown.
        one_by_one: of a claim about means over places, its verdict at each place alone, counted.
        decides: of a claim about all or any of several comparisons, the one that decides it, with
            its difference and interval.
        verdict: one of `VERDICTS`.
    """

    comparisons: int = 0
    of: int = 0
    holds: int = 0
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    smallest: float = np.nan
    detects: float = np.nan
    unit: str = ""
    repeats: int = 0
    repeats_needed: float = np.nan
    one_by_one: str = ""
    decides: str = ""
    verdict: str = ""

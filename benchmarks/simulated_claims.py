"""Scores of eleven losses whose true differences are known, and the product's verdicts on them.

A class is easier for one loss than for another, and so is a class to learn from; queries and seeds
add noise. The classes are drawn, and the truth is the difference over all classes that could have
been drawn. How large each part is comes from the published scores of psomas2020 (`parts_of`). The
claims are those of psomas2020: one loss over another, three losses over seven, and the best of ten
over one.
"""

import functools
import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from dmlbench.data.splits.half import Half  # noqa: E402
from dmlbench.plan.studies.claims import Cell, Claim, StandIn  # noqa: E402
from dmlbench.plan.studies.mapping import Mapping as Places  # noqa: E402
from dmlbench.plan.studies.mapping import Rule, Then  # noqa: E402
from dmlbench.statistics.aggregation import read_scores  # noqa: E402
from dmlbench.statistics.claims.contrasts import comparisons  # noqa: E402
from dmlbench.statistics.claims.decisions import (  # noqa: E402
    CONTRADICTED,
    EQUIVALENT,
    INCONCLUSIVE,
    SUPPORTED,
    Shown,
)
from dmlbench.statistics.claims.evidence import Elsewhere, Scores, Weights  # noqa: E402
from dmlbench.statistics.claims.judging import judge  # noqa: E402
from dmlbench.statistics.claims.verdicts import Verdict  # noqa: E402
from dmlbench.statistics.equivalence import Difference  # noqa: E402

OUTCOMES = (SUPPORTED, CONTRADICTED, EQUIVALENT, INCONCLUSIVE)
CLASSES = {"birds": 200, "cars": 196}
SMALLEST = 1.0
"""The smallest effect of interest, in points of R@1, as in psomas2020's claims."""

CONTROL = "contrastive"
LATER = ("multi_similarity", "soft_triple", "proxy_anchor")
EARLIER = (CONTROL, "triplet", "lifted_structure", "n_pair", "proxy_nca", "margin", "arcface")
ELEVENTH = "cosface"
"""It varies as the eight losses that learn do; the other ten are the published ones."""
LOSSES = (*EARLIER, *LATER, ELEVENTH)
NOT_LEARNING = ("lifted_structure", "n_pair")
"""Losses that stay near a random projection, and vary more than others."""


class Shares(NamedTuple):
    """Shares of what splits add to a difference, beyond seeds; one score per split hides them.

    Attributes:
        of_class: the classes that are tested.
        of_training: the classes that train.
        of_queries: queries that another training answers otherwise.
    """

    of_class: float
    of_training: float
    of_queries: float


ASSUMED = Shares(0.45, 0.10, 0.45)
OTHER_SHARES = (Shares(1.0, 0.0, 0.0), Shares(0.4, 0.4, 0.2), Shares(0.1, 0.2, 0.7))
"""Only intervals are simulated with these."""
FEWER = 20
"""Simulations of each of the other shares."""

CELLS = [Cell("1", "", "x", "n", "128", loss, "", "test", "recall_at_1") for loss in LOSSES]
PLACES = Places(rules=[Rule(then=Then(split="half"))])
STAND_IN = StandIn(study="simulated", name="simulated", variants={"": ""})


INTERVALS = "intervals"


class Parts(NamedTuple):
    """Variances of one loss's score, in points^2.

    Attributes:
        splits: from split to split, beyond seeds.
        seeds: from seed to seed on one split.
    """

    splits: float
    seeds: float


@functools.cache
def parts_of(data: str) -> dict[str, Parts]:
    """Loss -> its parts: half the mean of what differences of two losses that learn vary by, and
    for those that do not, what is left of their differences from these."""
    study = REPOSITORY / "results" / "published" / f"psomas2020_{data}" / "scores.parquet"
    scores = read_scores(study)
    scores = scores[(scores["metric"] == "recall_at_1") & scores["method"].isin(LOSSES)]
    scores = scores[(scores["variant"] == "tuned") & (scores["role"] == "test")]
    by_run = 100 * scores.pivot_table(index="split", columns=["method", "seed"], values="value")

    def varies(first: str, other: str) -> np.ndarray:
        difference = by_run[first] - by_run[other]
        seeds = difference.var(axis=1, ddof=1).mean()
        splits = difference.mean(axis=1).var(ddof=1) - seeds / difference.shape[1]
        return np.array([splits, seeds])

    learning = [loss for loss in LOSSES if loss not in (*NOT_LEARNING, ELEVENTH)]
    own = np.mean([varies(*pair) for pair in itertools.combinations(learning, 2)], axis=0) / 2
    found = dict.fromkeys((*learning, ELEVENTH), Parts(*own.tolist()))
    for loss in NOT_LEARNING:
        left = np.mean([varies(loss, other) for other in learning], axis=0) - own
        found[loss] = Parts(*left.tolist())
    return found


@functools.cache
def tested(data: str, design: "Runs") -> dict[str, np.ndarray]:
    """Split -> which classes it tests, by the product's own splits; the others train."""
    labels = np.arange(CLASSES[data])
    index = pd.DataFrame({"image_id": labels.astype(str), "label": labels})
    found = {}
    for draw, swapped in itertools.product(design.draws, design.swapped):
        roles = Half(draw=draw, swapped=swapped)(index)
        found[f"half {draw} {swapped}"] = (roles["role"] == "test").to_numpy()
    return found


class Runs(NamedTuple):
    """A design: the draws of halves, whether they are swapped, and the number of seeds."""

    draws: tuple
    swapped: tuple
    seeds: int


FIVE = Runs((None, 1, 2, 3, 4), (False,), 3)
SWAPS = Runs((None, 1, 2), (False, True), 1)


class Independent(Elsewhere):
    """Splits that share classes, taken as independent: what this project once did."""

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        return Scores.estimates(self, parts)


class Design(NamedTuple):
    """Runs, and how differences are estimated from them.

    Attributes:
        kind: the product's evidence, or `Independent`.
        with_classes: whether the scores of each class are known.
    """

    runs: Runs
    kind: type[Elsewhere] = Elsewhere
    with_classes: bool = False


NAIVE = "five halves, as if independent"
DESIGNS = {
    NAIVE: Design(FIVE, Independent),
    "five halves": Design(FIVE),
    "three halves and swaps": Design(SWAPS),
    "three halves and swaps, scores of classes": Design(SWAPS, with_classes=True),
}
"""The first one is there to show why it is not used."""


def simulated(data: str, design: Runs, random, shares: Shares = ASSUMED) -> np.ndarray:
    """Scores of losses that are truly equal: [losses, splits, seeds, classes], in points.

    NaN where a class was not tested.
    """
    parts = [parts_of(data)[loss] for loss in LOSSES]
    splits, seeds = (np.array([getattr(each, name) for each in parts]) for name in Parts._fields)
    count = CLASSES[data]

    def noise(variance: np.ndarray, *shape: int) -> np.ndarray:
        deviation = variance[:, *[None] * len(shape)] ** 0.5
        return deviation * random.normal(size=(len(LOSSES), *shape))

    # The mean over a half of drawn classes varies from half to half by 1 / classes.
    easier, taught = (
        noise(shares.of_class * splits * count, count),
        noise(shares.of_training * splits * count, count),
    )
    found = np.full((len(LOSSES), len(tested(data, design)), design.seeds, count), np.nan)
    for run, test in enumerate(tested(data, design).values()):
        half = int(test.sum())
        of_split = easier[:, test] + taught[:, ~test].mean(axis=1, keepdims=True)
        of_split = of_split + noise(shares.of_queries * splits * half, half)
        # One half of what seeds add is common to a run's classes, the other is not.
        of_seed = noise(seeds / 2, design.seeds, 1) + noise(seeds / 2 * half, design.seeds, half)
        found[:, run][..., test] = 50 + of_split[:, None] + of_seed
    return found


def evidence(data: str, design: Design, scores: np.ndarray) -> Elsewhere:
    """The product's evidence, from the long tables of scores and of those of each class."""
    splits = list(tested(data, design.runs))
    common = {"dataset": "x", "network": "n", "embedding_dim": 128, "variant": "", "role": "test"}
    common |= {"metric": "recall_at_1", "selection": "last_epoch"}

    def long(values: np.ndarray, axes: Mapping[str, Sequence]) -> pd.DataFrame:
        index = pd.MultiIndex.from_product(axes.values(), names=axes)
        table = pd.DataFrame({"value": values.ravel() / 100}, index=index).reset_index()
        return table.dropna().assign(**common)

    axes = {"method": LOSSES, "split": splits, "seed": range(design.runs.seeds)}
    of_class = None
    if design.with_classes:
        of_class = long(scores, axes | {"label": range(CLASSES[data])})
    return design.kind(long(np.nanmean(scores, axis=-1), axes), PLACES, STAND_IN, of_class)


class Better:
    """Evidence in which some losses are truly better: differences move, their errors stay.

    Args:
        evidence: of losses that are truly equal.
        truth: loss -> how much better it is, in points.
        known: what was estimated together of this evidence; more is added.
    """

    def __init__(self, evidence: Elsewhere, truth: Mapping[str, float], known: dict):
        self.evidence, self.truth, self.known = evidence, truth, known
        self.unit, self.key, self.repeats = evidence.unit, evidence.key, evidence.repeats

    def value(self, cell: Cell) -> float:
        if cell not in self.known:
            self.known[cell] = self.evidence.value(cell)
        return self.known[cell] + self.truth.get(cell.method, 0.0)

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        together = tuple(frozenset(weights.items()) for weights in parts)
        if together not in self.known:
            self.known[together] = self.evidence.estimates(parts)
        return [self._moved(*each) for each in zip(parts, self.known[together], strict=True)]

    def estimate(self, weights: Weights) -> Difference:
        return self.estimates([weights])[0]

    def _moved(self, weights: Weights, each: Difference) -> Difference:
        moved = sum(weight * self.truth.get(cell.method, 0) for cell, weight in weights.items())
        return each._replace(value=each.value + moved)


def claim(arm: Sequence[str], control: Sequence[str], **parts) -> Claim:
    cells = {"arm": {"method": list(arm)}, "control": {"method": list(control)}}
    return Claim(id="a", says="", place="", line=1, **cells | parts)


CLAIMS = {
    "one over one": claim(LATER[-1:], [CONTROL], need="mean"),
    "mean of three over seven": claim(LATER, EARLIER, need="mean"),
    "each of three over each of seven": claim(LATER, EARLIER),
    "best of ten over one": claim(
        [loss for loss in LOSSES if loss != CONTROL], [CONTROL], arm_is="best"
    ),
    "one as good as one": claim(LATER[-1:], [CONTROL], direction="equal"),
}


class Case(NamedTuple):
    """A claim and a truth.

    Attributes:
        claim: one of `CLAIMS`.
        says: the truth, in words.
        truth: loss -> how much better than the others it is, in points.
    """

    claim: str
    says: str
    truth: dict

    @property
    def differences(self) -> list[float]:
        """The true differences that the claim is about."""
        one = CLAIMS[self.claim]
        arms, controls = (
            [self.truth.get(loss, 0.0) for loss in cells["method"]]
            for cells in (one.arm, one.control)
        )
        if one.arm_is == "best":
            return [max(arms) - controls[0]]
        found = [arm - control for arm in arms for control in controls]
        return [float(np.mean(found))] if one.need == "mean" else found

    @property
    def wrong(self) -> list[str]:
        """The verdicts that are wrong if this is true.

        A claim about several comparisons that none of them refutes by a point is not to be
        contradicted; one comparison is not to be contradicted if it is as claimed, or is 0.
        """
        differences = np.array(self.differences)
        if CLAIMS[self.claim].direction == "equal":
            inside = np.abs(differences).max() < SMALLEST
            return [CONTRADICTED] if inside else [SUPPORTED]
        wrong = [SUPPORTED] if differences.min() <= 0 else []
        if differences.min() >= (SMALLEST if len(differences) > 1 else 0):
            wrong.append(CONTRADICTED)
        return wrong + [EQUIVALENT] * bool(np.abs(differences).max() >= SMALLEST)


def cases() -> list[Case]:
    one, mean, each, best, equal = CLAIMS
    found = [Case(one, _points(d), {LATER[-1]: d}) for d in (0, 0.5, 1, 2, 5)]
    found += [Case(mean, _points(d), dict.fromkeys(LATER, d)) for d in (0, 0.5, 1, 2, 5)]
    found.append(Case(each, "no difference", {}))
    weak = dict.fromkeys((*LATER[:2], CONTROL), -2)
    found.append(Case(each, "1 of 21, by 2 points", weak))
    found.append(Case(each, "3 of 21, by 2 points", {CONTROL: -2}))
    found.append(Case(each, "18 of 21, by 5 points", dict.fromkeys((*LATER, CONTROL), 5)))
    found += [
        Case(each, f"all 21, by {_points(d)}", dict.fromkeys(LATER, d)) for d in (0.5, 1, 2, 5)
    ]
    found += [Case(best, _points(d), {LATER[-1]: d}) for d in (0, 0.5, 1, 2, 5)]
    return found + [Case(equal, _points(d), {LATER[-1]: d}) for d in (0, 0.5, 1, 2)]


def _points(number: float) -> str:
    return "no difference" if not number else f"{number:g} point{'s' if number > 1 else ''}"


@functools.cache
def _built(name: str) -> list:
    return comparisons(CLAIMS[name], CELLS)


def judged(case: Case, equal: Elsewhere, known: dict) -> Verdict:
    """The verdict where this is true; `equal` and `known` as `Better` takes them."""
    better = Better(equal, case.truth, known)
    return judge(CLAIMS[case.claim], CELLS, _built(case.claim), better, SMALLEST, absent="not run")


def intervals(equal: Elsewhere, known: dict) -> dict[str, np.ndarray]:
    """Claim -> the 95 % intervals of its differences, [n, 2], where losses are truly equal."""
    cells = {cell.method: cell for cell in CELLS}
    parts = [{cells[arm]: 1.0, cells[other]: -1.0} for arm in LATER for other in EARLIER]
    one, mean, each, *_ = CLAIMS
    judgments = {name: judged(Case(name, "", {}), equal, known) for name in (one, mean)}
    found = {name: np.array([[verdict.low, verdict.high]]) for name, verdict in judgments.items()}
    of_each = Better(equal, {}, known).estimates(parts)
    return found | {each: np.array([Shown(difference).interval() for difference in of_each])}


def repetition(
    data: str,
    number: int,
    designs: Sequence[str] = tuple(DESIGNS),
    chosen: Sequence[Case] | None = None,
    shares: Shares = ASSUMED,
) -> list[dict]:
    """One simulation: data, design, claim, truth, verdict, holds; and rows of `INTERVALS`: the
    lowest end of a claim's intervals, and the share of them that hold the truth.

    Args:
        chosen: the cases that are judged; all of them if not given.
    """
    rows = []
    for name in designs:
        design = DESIGNS[name]
        # Designs with the same runs see the same scores.
        random = np.random.default_rng([list(CLASSES).index(data), len(design.runs.draws), number])
        equal = evidence(data, design, simulated(data, design.runs, random, shares))
        known: dict = {}
        common = {"data": data, "design": name}
        for case in cases() if chosen is None else chosen:
            verdict = judged(case, equal, known)
            truth = np.mean(case.differences)
            holds = verdict.low - 1e-9 <= truth <= verdict.high + 1e-9
            told = {"claim": case.claim, "truth": case.says}
            rows.append(common | told | {"verdict": verdict.verdict, "holds": bool(holds)})
        rows += [
            common
            | {"claim": claimed, "truth": INTERVALS, "low": float(ends[:, 0].min())}
            | {"holds": float(((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean())}
            for claimed, ends in intervals(equal, known).items()
        ]
    return rows

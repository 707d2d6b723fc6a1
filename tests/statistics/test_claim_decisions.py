"""Verdicts on claims of simulated scores, whose truth is known, and the rules that combine them."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan.claims import Cell, Claim, StandIn
from dmlbench.plan.mapping import Mapping, Rule, Then
from dmlbench.plan.where import Where
from dmlbench.statistics.claims import decisions
from dmlbench.statistics.claims.contrasts import comparisons
from dmlbench.statistics.claims.decisions import combined, of_correlation, of_difference, outcomes
from dmlbench.statistics.claims.evidence import Elsewhere
from dmlbench.statistics.claims.verdicts import judge
from dmlbench.statistics.equivalence import Difference
from scipy import stats

LOSSES = ["contrastive", "triplet", "margin", "n_pair"]
CELLS = [
    Cell("01", "", "cub200", "resnet50", "128", loss, variant, "test", "recall_at_1")
    for loss in LOSSES
    for variant in ("", "new")
]
MAPPING = Mapping(rules=[Rule(then=Then(split="half"))])
ALIKE = StandIn(study="made_up", name="made up", variants={"": "", "new": "new"})


def claim(**parts) -> Claim:
    basic = {"id": "a", "says": "so", "place": "table 1", "line": 1, "because": "so"}
    basic |= {"arm": {"variant": ["new"]}, "control": {"variant": [""]}}
    return Claim(**basic | parts)


def scores(effects, *, seeds: int, noise: float, random, of_seed: float = 3.0) -> Elsewhere:
    """Scores whose arms differ by known effects; the seed moves all of them."""
    evidence = Elsewhere(one_score(), MAPPING, ALIKE)
    evidence.of_repeats = {}
    shared = random.normal(0, of_seed, seeds)
    for loss, effect in zip(LOSSES, effects, strict=True):
        for variant, added in (("", 0.0), ("new", effect)):
            values = 60 + added + shared + random.normal(0, noise, seeds)
            key = (loss, variant, 8, "test", "recall_at_1")
            evidence.of_repeats[key] = dict(enumerate(values))
    return evidence


def one_score(**columns) -> pd.DataFrame:
    row = {"dataset": "x", "network": "n", "embedding_dim": 8, "split": "half", "seed": 0}
    row |= {"method": "margin", "variant": "", "role": "test", "metric": "recall_at_1"}
    return pd.DataFrame([row | {"selection": "last_epoch", "value": 0.5} | columns])


def verdict(one: Claim, evidence, smallest: float = 1.0):
    return judge(one, CELLS, comparisons(one, CELLS), evidence, smallest, absent="not run")


@pytest.mark.parametrize(
    ("effects", "parts", "expected"),
    [
        ([5, 5, 5, 5], {}, "supported"),
        ([5, 5, 5, -5], {}, "contradicted"),
        ([5, 5, 5, 0], {}, "contradicted"),
        ([0, 0, 0, 0], {}, "equivalent"),
        ([5, 5, 5, -5], {"need": "mean"}, "supported"),
        ([0, 0, 0, 0], {"need": "mean"}, "equivalent"),
        ([-5, -5, -5, 5], {"need": "any"}, "supported"),
        ([-5, -5, -5, -5], {"need": "any"}, "contradicted"),
        ([5, 5, 5, -5], {"need": 0.75}, "supported"),
        ([5, 5, -5, -5], {"need": 0.75}, "contradicted"),
        ([-5, -5, -5, -5], {"direction": "less"}, "supported"),
        ([0, 0, 0, 0], {"direction": "equal"}, "supported"),
        ([0, 0, 0, 5], {"direction": "equal"}, "contradicted"),
        ([0, 0, 0, 0], {"direction": "at_least"}, "supported"),
        ([-5, 0, 0, 0], {"direction": "at_least"}, "contradicted"),
        ([5, 5, 5, 5], {"by": 3.0}, "supported"),
        ([5, 5, 5, 5], {"by": 7.0}, "contradicted"),
        ([5, 5, 5, -5], {"over": ["method"]}, "supported"),
    ],
)
def test_the_truth_is_found_with_many_seeds(effects, parts, expected):
    evidence = scores(effects, seeds=30, noise=0.5, random=np.random.default_rng(1))
    found = verdict(claim(**parts), evidence)
    assert found.verdict == expected
    assert found.repeats == 30
    assert found.estimate == pytest.approx(np.mean(effects), abs=0.3)


def test_few_noisy_seeds_decide_nothing_and_say_how_many_would():
    evidence = scores([0.5] * 4, seeds=3, noise=2.0, random=np.random.default_rng(2))
    found = verdict(claim(), evidence)
    assert found.verdict == "inconclusive"
    # Differences of pairs have a deviation of 2.8, and the margin is 1.
    assert 20 < found.repeats_needed < 400
    single = scores([5] * 4, seeds=1, noise=0.1, random=np.random.default_rng(2))
    assert verdict(claim(), single).verdict == "inconclusive"
    nothing = verdict(claim(), Elsewhere(one_score(), MAPPING, ALIKE))
    assert (nothing.verdict, nothing.comparisons, nothing.of) == ("not run", 0, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "parts", "wrong"),
    [
        (0.0, {"need": "mean"}, "supported"),
        (0.0, {"need": "mean"}, "contradicted"),
        (0.0, {}, "supported"),
        (0.0, {"need": "any"}, "supported"),
        (0.0, {"need": "any"}, "contradicted"),
        (1.0, {"need": "mean"}, "equivalent"),
        (1.0, {"direction": "equal"}, "supported"),
        (-1.0, {"direction": "at_least"}, "supported"),
    ],
)
def test_wrong_verdicts_are_as_rare_as_said(effect, parts, wrong):
    random, one = np.random.default_rng(0), claim(**parts)
    runs = 150
    found = Counter(
        verdict(one, scores([effect] * 4, seeds=5, noise=0.7, random=random)).verdict
        for _ in range(runs)
    )
    # One of twenty, and three standard errors of the simulation.
    assert found[wrong] / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


def test_pairing_by_seed_removes_what_the_seed_moves():
    random = np.random.default_rng(3)
    evidence = scores([2] * 4, seeds=5, noise=0.3, random=random, of_seed=10.0)
    assert verdict(claim(), evidence).verdict == "supported"
    new, old = CELLS[1], CELLS[0]
    samples = [
        np.array(list(evidence.of_repeats[evidence.key(cell)].values())) for cell in (new, old)
    ]
    expected = stats.ttest_rel(*samples)
    value, error, freedom = evidence.estimate({new: 1.0, old: -1.0})
    assert value / error == pytest.approx(expected.statistic)
    assert freedom == 4
    del evidence.of_repeats[evidence.key(old)][0]
    value, error, freedom = evidence.estimate({new: 1.0, old: -1.0})
    expected = stats.ttest_ind(samples[0], samples[1][1:], equal_var=False)
    assert value / error == pytest.approx(expected.statistic)
    assert freedom == pytest.approx(expected.df)


def test_tests_of_a_difference_are_those_of_scipy():
    sample = np.array([0.3, 1.1, 0.8, 0.4, 1.9])
    difference = Difference(sample.mean(), stats.sem(sample), 4)
    found = of_difference(difference, "greater", 0.0, 0.0)
    assert found.holds == pytest.approx(stats.ttest_1samp(sample, 0, alternative="greater").pvalue)
    assert found.fails == pytest.approx(stats.ttest_1samp(sample, 0, alternative="less").pvalue)
    found = of_difference(difference, "at_most", 1.0, 0.5)
    assert found.holds == pytest.approx(stats.ttest_1samp(sample, 1.5, alternative="less").pvalue)
    found = of_difference(difference, "equal", 1.0, 2.0)
    sides = [
        stats.ttest_1samp(sample, 1 + side, alternative=name).pvalue
        for side, name in ((2, "less"), (-2, "greater"))
    ]
    assert found.holds == pytest.approx(max(sides))


def test_numbers_without_noise_are_compared_as_they_are():
    def exact(value, direction, by=0.0, smallest=0.0):
        tests = of_difference(Difference(value, 0.0, np.inf), direction, by, smallest)
        (found,) = outcomes([tests], "all")
        return found

    assert exact(0.1, "greater") == "supported"
    assert exact(-0.1, "greater") == "contradicted"
    assert exact(0.0, "greater") == "equivalent"
    assert exact(0.0, "at_least") == exact(0.0, "at_most") == exact(0.0, "equal") == "supported"
    assert exact(-0.1, "at_least") == exact(0.1, "at_most") == exact(0.1, "equal") == "contradicted"
    assert exact(0.9, "at_least", by=0.9) == "supported"
    assert exact(1.6, "at_least", by=2, smallest=0.5) == "supported"
    assert exact(4.09, "less", by=4) == "contradicted"


def test_places_follow_from_comparisons():
    above, below, open_ = "supported", "contradicted", "inconclusive"
    assert decisions.place_among([above, above, below], 2, 2) == "supported"
    assert decisions.place_among([above, above, below], 1, 1) == "contradicted"
    assert decisions.place_among([above, open_, below], 2, 3) == "supported"
    assert decisions.place_among([above, open_, below], 2, 2) == "inconclusive"
    assert decisions.place_among([above, open_, below], 4, 4) == "contradicted"


def test_what_is_needed_decides():
    some = ["supported", "supported", "inconclusive", "contradicted"]
    assert combined(some, "all") == "contradicted"
    assert combined(some, "any") == combined(some, 0.5) == "supported"
    assert combined(some, 0.75) == "inconclusive"
    assert combined(some, 1.0) == "contradicted"
    assert combined(["equivalent", "equivalent"], "all") == "equivalent"
    assert combined(["equivalent", "supported"], "all") == "contradicted"
    assert combined([], "all") == "inconclusive"


def test_a_contradiction_of_one_of_many_is_corrected():
    one = decisions.Tests(0.5, 0.04, np.nan)
    assert outcomes([one], "all") == ["contradicted"]
    assert outcomes([one] * 3, "all") == ["inconclusive"] * 3
    assert outcomes([one] * 3, "any") == ["contradicted"] * 3


@pytest.mark.slow
def test_the_interval_of_a_rank_correlation_covers_zero_as_often_as_said():
    random, found = np.random.default_rng(0), Counter()
    for _ in range(2000):
        x, y = random.normal(size=(2, 14))
        r = stats.spearmanr(x, y).statistic
        tests = of_correlation(r, 14, "less", 0.0, 0.3)
        (outcome,) = outcomes([tests], "all")
        found[outcome] += 1
    assert found["supported"] / 2000 < 0.065
    assert found["contradicted"] / 2000 < 0.065
    assert of_correlation(-0.9, 14, "less", 0.0, 0.3).holds < 0.001
    assert np.isnan(of_correlation(-0.9, 3, "less", 0.0, 0.3).holds)


def test_of_several_splits_of_the_classes_a_split_is_what_a_seed_is_of_one():
    random = np.random.default_rng(5)
    effects = {"a": 0.01, "b": 0.03, "c": 0.02}
    easy = {"a": 0.5, "b": 0.7, "c": 0.6}
    scores = pd.concat(
        one_score(
            variant=variant,
            split=split,
            seed=seed,
            value=easy[split] + added + random.normal() / 99,
        )
        for split, effect in effects.items()
        for seed in range(4)
        for variant, added in (("", 0.0), ("new", effect))
    )
    evidence = Elsewhere(scores, MAPPING, ALIKE)
    new, old = (next(c for c in CELLS if c[5:7] == ("margin", v)) for v in ("new", ""))
    means = scores.groupby(["variant", "split"])["value"].mean().unstack(0) * 100
    expected = stats.ttest_rel(means["new"], means[""])
    value, error, freedom = evidence.estimate({new: 1.0, old: -1.0})
    assert (value / error, freedom) == (pytest.approx(expected.statistic), 2)
    assert (evidence.unit, evidence.repeats(new)) == ("split", 3)


def test_a_stand_in_is_the_rows_of_one_data_set():
    scores = pd.concat([one_score(), one_score(dataset="y", value=0.7)])
    with pytest.raises(UserError, match="several values of dataset; allowed: one, by `where`"):
        Elsewhere(scores, MAPPING, ALIKE)
    one = ALIKE.model_copy(update={"where": Where(dataset="y")})
    evidence = Elsewhere(scores, MAPPING, one)
    margin = next(c for c in CELLS if c[5:7] == ("margin", ""))
    assert evidence.data == ["y"]
    assert evidence.value(margin) == pytest.approx(70)


def test_a_stand_in_of_one_size_stands_for_all_printed_sizes_and_one_of_several_for_its_own():
    small, large = (CELLS[0].with_(embedding_dim=size) for size in ("64", "512"))
    of_one = Elsewhere(one_score(method="contrastive"), MAPPING, ALIKE)
    assert of_one.value(small) == of_one.value(large) == pytest.approx(50)
    rises = claim(
        arm={"embedding_dim": ["512"]}, control={"embedding_dim": ["64"], "variant": [""]}
    )
    cells = [small, large]
    several = pd.concat(
        one_score(method="contrastive", embedding_dim=size, seed=seed, value=value + seed / 1000)
        for size, value in ((64, 0.4), (512, 0.5))
        for seed in range(3)
    )
    with pytest.raises(UserError, match="several values of embedding_dim; allowed: one, by"):
        Elsewhere(several, MAPPING, ALIKE)
    named = ALIKE.model_copy(update={"where": Where(embedding_dim=[64, 512])})
    of_several = Elsewhere(several, MAPPING, named)
    told = [
        judge(rises, cells, comparisons(rises, cells), evidence, 1.0, absent="not run")
        for evidence in (of_one, of_several)
    ]
    assert [each.verdict for each in told] == ["not run", "supported"]
    assert told[1].estimate == pytest.approx(10)
    assert of_several.value(small.with_(embedding_dim="128")) is None

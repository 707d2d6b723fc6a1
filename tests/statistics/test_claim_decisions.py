"""Verdicts on claims of simulated scores, whose truth is known, and the rules that combine them."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from dmlbench.plan.studies.claims import Cell, Claim, Gain, StandIn
from dmlbench.plan.studies.mapping import Mapping, Rule, Then
from dmlbench.statistics.claims import decisions
from dmlbench.statistics.claims.contrasts import comparisons
from dmlbench.statistics.claims.decisions import (
    Shown,
    combined,
    of_correlation,
    of_difference,
    outcomes,
)
from dmlbench.statistics.claims.evidence import Elsewhere
from dmlbench.statistics.claims.judging import judge, one_by_one, scale
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


NEW, OLD = (next(c for c in CELLS if c[5:7] == ("margin", variant)) for variant in ("new", ""))


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


@pytest.mark.parametrize(
    ("effects", "parts", "decides"),
    [
        ([5, 2, 5, 5], {}, "triplet, new less none: "),
        ([5, 5, 5, -5], {}, "n_pair, new less none: -"),
        ([-5, -5, 5, -5], {"need": "any"}, "margin, new less none: "),
        ([5, 5, 5, -5], {"need": "mean"}, ""),
        ([5, 5, 5, -5], {"need": 0.75}, ""),
    ],
)
def test_the_comparison_that_decides_is_named_with_its_interval(effects, parts, decides):
    evidence = scores(effects, seeds=30, noise=0.5, random=np.random.default_rng(1))
    found = verdict(claim(**parts), evidence).decides
    assert found.startswith(decides)
    assert bool(found) == bool(decides) == found.endswith("]")


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
    # One of forty, and three standard errors of the simulation.
    assert found[wrong] / runs <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5


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
    difference = Shown(Difference(sample.mean(), stats.sem(sample), 4))
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
        tests = of_difference(Shown(Difference(value, 0.0, np.inf)), direction, by, smallest)
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
    one = decisions.Tests(0.5, 0.02, np.nan)
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
    assert found["supported"] / 2000 < 0.035
    assert found["contradicted"] / 2000 < 0.035
    assert of_correlation(-0.9, 14, "less", 0.0, 0.3).holds < 0.001
    assert np.isnan(of_correlation(-0.9, 3, "less", 0.0, 0.3).holds)


def test_the_best_of_many_is_tested_as_the_best_of_many():
    random, found, naive = np.random.default_rng(0), Counter(), 0
    for _ in range(400):
        arms, control = random.normal(size=(10, 5)), random.normal(size=5)
        differences = [
            Difference((arm - control).mean(), stats.sem(arm - control), 4) for arm in arms
        ]
        best = max(differences, key=lambda each: each.value)
        (outcome,) = outcomes([of_difference(Shown(best, above_tests=10), "greater", 0, 0)], "all")
        found[outcome] += 1
        naive += Shown(best).above(0) <= decisions.ALPHA
    assert naive / 400 > 0.075
    assert found["supported"] / 400 < 0.025 + 3 * (0.025 * 0.975 / 400) ** 0.5
    assert found["contradicted"] / 400 < 0.025


def test_the_interval_of_the_best_is_what_its_tests_do_not_exclude():
    best = Shown(Difference(1.0, 0.3, 6), above_tests=4)
    low, high = best.interval()
    assert [best.above(low), best.below(high)] == pytest.approx([0.025, 0.025])
    assert best.above(low + 0.01) > 0.025 > best.above(low - 0.01)
    assert 1.0 - low > high - 1.0


def test_a_claim_about_the_best_counts_from_how_many_it_is_chosen():
    effects = [1, 2, 3, 4]
    evidence = scores(effects, seeds=5, noise=0.5, random=np.random.default_rng(6))
    best = claim(arm_is="best", each=["metric"], control={"variant": [""], "method": ["margin"]})
    found = verdict(best, evidence)
    (own,) = (each for each in CELLS if each[5:7] == ("n_pair", "new"))
    plain = Shown(evidence.estimate({own: 1.0, OLD: -1.0}))
    assert found.estimate == pytest.approx(plain.difference.value)
    assert found.low < plain.interval()[0]
    assert found.high == pytest.approx(plain.interval()[1])
    assert found.low == pytest.approx(plain._replace(above_tests=4).interval()[0])


SPREAD = {"arm_is": "spread", "control_is": "spread", "each": ["metric"]}


def test_a_spread_is_the_standard_deviation_over_losses():
    random, effects = np.random.default_rng(7), [-4.0, 4.0, -1.0, 2.0]
    evidence = scores(effects, seeds=5, noise=0.5, random=random)
    found = verdict(claim(**SPREAD), evidence)
    means = {key: np.mean(list(seeds.values())) for key, seeds in evidence.of_repeats.items()}
    new, old = ([means[key] for key in means if key[1] == variant] for variant in ("new", ""))
    assert found.estimate == pytest.approx(np.std(new, ddof=1) - np.std(old, ddof=1))
    assert (found.verdict, found.comparisons) == ("supported", 1)
    other = verdict(claim(direction="less", **SPREAD), evidence)
    assert (other.verdict, other.estimate) == ("contradicted", found.estimate)


def test_equal_spreads_are_told_apart_as_rarely_as_said():
    random, found, runs = np.random.default_rng(8), Counter(), 400
    for _ in range(runs):
        # The new variant has its own losses in front, as far apart as the old ones.
        apart = random.permutation([-3.0, -1.0, 1.0, 3.0])
        evidence = scores([0.0] * 4, seeds=5, noise=0.7, random=random)
        for loss, old, new in zip(LOSSES, [-3.0, -1.0, 1.0, 3.0], apart, strict=True):
            for variant, moved in (("", old), ("new", new)):
                own = evidence.of_repeats[loss, variant, 8, "test", "recall_at_1"]
                own.update({seed: value + moved for seed, value in own.items()})
        found[verdict(claim(**SPREAD), evidence).verdict] += 1
    for wrong in ("supported", "contradicted"):
        assert found[wrong] / runs <= 0.025 + 3 * (0.025 * 0.975 / runs) ** 0.5


def test_two_losses_have_no_spread():
    evidence = scores([0.0] * 4, seeds=5, noise=0.7, random=np.random.default_rng(9))
    two = claim(arm={"variant": ["new"], "method": LOSSES[:2]}, **SPREAD)
    assert verdict(two, evidence).verdict == "not run"


def test_print_is_judged_at_each_place_as_other_data_are():
    places = [cell.with_(dataset=data) for cell in CELLS for data in ("a", "b", "c")]
    numbers = {"a": 5.0, "b": -5.0, "c": 0.1}
    evidence = Elsewhere(one_score(), MAPPING, ALIKE)
    evidence.key = lambda cell: cell
    evidence.of_repeats = {
        cell: dict(enumerate(60 + (cell.variant == "new") * numbers[cell.dataset] + _NOISE))
        for cell in places
    }
    averaged = claim(over=["dataset"], need="mean")
    built = comparisons(averaged, places)
    assert one_by_one(averaged, places, built, evidence, 1.0) == (
        "1 supported, 1 contradicted, 1 equivalent"
    )
    here = [cell for cell in places if cell.dataset == "a"]
    assert one_by_one(averaged, here, comparisons(averaged, here), evidence, 1.0) == ""


_NOISE = np.array([-0.1, 0.0, 0.1])


def test_a_scaled_margin_is_a_share_of_what_training_adds():
    def with_gain(points):
        evidence = Elsewhere(one_score(), MAPPING, ALIKE)
        evidence.of_repeats = {
            evidence.key(cell): {0: 40 + points * (cell.variant == "new")} for cell in CELLS
        }
        return evidence

    gain = Gain(arm={"variant": ["new"], "method": ["margin"]}, control={"variant": [""]})
    scaled = claim(scaled=True, smallest=3.0)
    share = scale(gain, scaled, CELLS, with_gain(12.0), with_gain(3.0))
    assert share == pytest.approx(0.25)
    assert scale(gain, scaled, CELLS, with_gain(12.0), with_gain(-1.0)) is None
    with pytest.raises(ValueError, match="is scaled; allowed: with a smallest effect"):
        claim(scaled=True)

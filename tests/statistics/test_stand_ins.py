"""Scores that stand for a document's on other data: which rows, sizes, splits and classes."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.where import Where
from dmlbench.statistics.claims.contrasts import comparisons
from dmlbench.statistics.claims.evidence import Elsewhere
from dmlbench.statistics.claims.judging import judge
from scipy import stats
from test_claim_decisions import ALIKE, CELLS, MAPPING, NEW, OLD, claim, one_score, verdict


def on_splits(effects, random):
    """Scores of a method and its variant over splits, four seeds each."""
    easy = random.uniform(0.5, 0.7, len(effects))
    return pd.concat(
        one_score(
            variant=variant,
            split=f"split{split}",
            seed=seed,
            value=easy[split] + added + random.normal() / 99,
        )
        for split, effect in enumerate(effects)
        for seed in range(4)
        for variant, added in (("", 0.0), ("new", effect))
    )


def test_splits_that_share_classes_are_not_counted_as_independent():
    scores = on_splits([0.01, 0.03, 0.02], np.random.default_rng(5))
    evidence = Elsewhere(scores, MAPPING, ALIKE)
    means = scores.groupby(["variant", "split"])["value"].mean().unstack(0) * 100
    differences = means["new"] - means[""]
    value, error, freedom = evidence.estimate({NEW: 1.0, OLD: -1.0})
    assert value == pytest.approx(differences.mean())
    # Nadeau and Bengio, halves: s^2 (1/J + 1), where independent splits have s^2 / J.
    assert error == pytest.approx(differences.std(ddof=1) * (1 / 3 + 1) ** 0.5)
    assert freedom == 2
    assert (evidence.unit({NEW: 1.0, OLD: -1.0}), evidence.repeats(NEW)) == ("split", 3)
    found = verdict(claim(arm={"method": ["margin"], "variant": ["new"]}), evidence)
    assert np.isnan(found.repeats_needed)
    assert found.detects > 2 * error


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


def test_with_the_scores_of_classes_a_stand_in_is_judged_by_them():
    random = np.random.default_rng(7)
    easier = {variant: random.uniform(0.3, 0.7, 40) for variant in ("", "new")}
    scores, classes = [], []
    for split in range(4):
        for variant, values in easier.items():
            tested = np.random.default_rng(split).permutation(40)[:20]
            common = {"variant": variant, "split": f"split{split}"}
            scores.append(one_score(**common, value=values[tested].mean()))
            classes += [
                one_score(**common, value=values[each]).assign(label=each) for each in tested
            ]
    scores, classes = pd.concat(scores), pd.concat(classes)
    evidence = Elsewhere(scores, MAPPING, ALIKE, classes)
    weights = {NEW: 1.0, OLD: -1.0}
    assert evidence.unit(weights) == "class"
    tested = sorted(classes["label"].unique())
    difference = 100 * (easier["new"] - easier[""])[tested]
    value, error, freedom = evidence.estimate(weights)
    # The same difference in each run: runs add nothing.
    assert (value, freedom) == (pytest.approx(difference.mean()), len(tested) - 1)
    assert error == pytest.approx(stats.sem(difference))
    # Without them, and with fewer runs, by splits.
    assert Elsewhere(scores, MAPPING, ALIKE).unit(weights) == "split"
    three = [frame[frame["split"] != "split3"] for frame in (scores, classes)]
    assert Elsewhere(three[0], MAPPING, ALIKE, three[1]).unit(weights) == "split"

"""Paired differences against scipy's test of two related samples, and Holm's procedure by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.paired import (
    COLUMNS,
    compared,
    holm,
    paired,
    paired_differences,
    pairs_needed,
)
from hypothesis import given
from hypothesis import strategies as st
from long_tables import PROFS, above, long_table, rows_of
from scipy import stats

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


def test_interval_and_p_are_those_of_the_paired_t_test():
    rng = np.random.default_rng(0)
    plain, better = rng.uniform(0.4, 0.6, 5), rng.uniform(0.5, 0.7, 5)
    frame = paired_differences(
        long_table({("margin", ""): plain, ("margin", "profs"): better}), PROFS
    )
    assert list(frame.columns) == COLUMNS
    (row,) = frame.itertuples()
    test = stats.ttest_rel(better, plain)
    interval = test.confidence_interval(0.95)
    assert (row.method, row.variant, row.pairs) == ("margin", "profs", 5)
    assert row.reference == pytest.approx(100 * plain.mean())
    assert row.difference == pytest.approx(100 * (better - plain).mean())
    assert (row.low, row.high) == pytest.approx((100 * interval.low, 100 * interval.high))
    assert row.p_value == row.holm == pytest.approx(test.pvalue)


def test_where_pairing_gains_nothing_runs_are_two_samples():
    values = np.random.default_rng(0).uniform(0.4, 0.6, (12, 2, 3))
    methods = {f"loss_{place:02}": each for place, each in enumerate(values)}
    by_variant = {
        (method, variant): scores
        for method, both in methods.items()
        for variant, scores in zip(("", "profs"), both, strict=True)
    }
    frame = paired_differences(long_table(by_variant), PROFS)
    single = frame[frame.method != ""]
    plain, changed = values[:, 0], values[:, 1]
    ratio = (changed - plain).var(axis=1, ddof=1).sum() / values.var(axis=2, ddof=1).sum()
    assert 0.8 < ratio < 1.25
    assert list(single.ratio) == pytest.approx([ratio] * 12)
    tests = stats.ttest_ind(changed, plain, axis=1, equal_var=False)
    interval = tests.confidence_interval(0.95)
    assert list(single.p_value) == pytest.approx(tests.pvalue)
    assert list(single.low) == pytest.approx(100 * interval.low)
    assert list(single.high) == pytest.approx(100 * interval.high)


@pytest.mark.parametrize(("ratio", "freedom"), [(0.79, 2), (0.8, 4), (1.25, 4), (1.26, 2)])
def test_the_variance_ratio_decides_between_pairs_and_two_samples(ratio, freedom):
    first, second = [1.0, 2.0, 3.0], [2.0, 1.0, 0.0]
    found = compared(first, second, ratio=ratio)
    assert found.mean == pytest.approx(1)
    error = (4 / 3 if freedom == 2 else 2 / 3) ** 0.5
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, freedom) * error)


def test_pairs_are_trainings_of_one_seed():
    scores = long_table({("margin", ""): [0.1, 0.5, 0.9], ("margin", "profs"): [0.2, 0.6, 1.0]})
    shuffled = scores.sample(frac=1, random_state=0)
    lost = shuffled[(shuffled.variant == "") | (shuffled.seed != 1)]
    (row,) = paired_differences(lost, PROFS).itertuples()
    assert (row.pairs, row.reference) == (2, pytest.approx(50))
    assert row.difference == pytest.approx(10)


def test_the_mean_over_methods_is_paired_by_seed():
    """Effects common to the methods of a seed stay in the differences: three pairs, not six."""
    plain = [0.5, 0.5, 0.5]
    scores = long_table(
        {
            ("contrastive", ""): plain,
            ("contrastive", "profs"): [0.51, 0.52, 0.56],
            ("margin", ""): plain,
            ("margin", "profs"): [0.53, 0.52, 0.58],
            ("margin", "hncm"): [0.6, 0.6, 0.7],
        }
    )
    found = rows_of(paired_differences(scores, PROFS))
    single = ["contrastive profs", "margin profs", "margin hncm"]
    assert list(map(" ".join, found)) == [*single, " profs"]
    together = found["", "profs"]
    test = stats.ttest_rel([0.52, 0.52, 0.57], plain)
    assert (together.pairs, together.difference) == (3, pytest.approx(100 * 0.11 / 3))
    assert together.p_value == pytest.approx(test.pvalue)
    assert np.isnan(together.holm)


def test_a_seed_that_a_method_lacks_is_left_out_of_the_mean():
    scores = long_table(
        {
            ("contrastive", ""): [0.5, 0.5, 0.5],
            ("contrastive", "profs"): [0.6, 0.6, 0.9],
            ("margin", ""): [0.5, 0.5],
            ("margin", "profs"): [0.6, 0.6],
        }
    )
    together = rows_of(paired_differences(scores, PROFS))["", "profs"]
    assert (together.pairs, together.difference) == (2, pytest.approx(10))


def test_one_pair_has_a_difference_and_nothing_more():
    (row,) = paired_differences(
        long_table({("margin", ""): [0.5], ("margin", "profs"): [0.6]}), PROFS
    ).itertuples()
    assert row.difference == pytest.approx(10)
    assert np.isnan([row.low, row.high, row.p_value, row.holm]).all()


def test_another_reference_and_several_metrics():
    frames = [
        long_table(
            {
                ("margin", ""): [0.9, 0.9],
                ("margin", "profs"): [0.5, 0.6],
                ("margin", "profs_hncm"): [0.4 + gain, 0.7],
            },
            metric=metric,
        )
        for metric, gain in (("recall_at_1", 0.0), ("map_at_r", 0.1))
    ]
    frame = paired_differences(pd.concat(frames), above("profs", "", "profs_hncm"))
    found = {(row.variant, row.metric): row.difference for row in frame.itertuples()}
    assert found["profs_hncm", "recall_at_1"] == pytest.approx(0)
    assert found["profs_hncm", "map_at_r"] == pytest.approx(5)
    assert found["", "map_at_r"] == pytest.approx(35)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_his_procedure_rejects(p_values):
    """Step down from the smallest: reject while p_(k) <= alpha / (m - k + 1)."""
    corrected = holm(pd.Series(p_values)).to_list()
    for alpha in (0.01, 0.05, 0.2):
        rejected, left = set(), len(p_values)
        for place in sorted(range(len(p_values)), key=p_values.__getitem__):
            if p_values[place] * left > alpha:
                break
            rejected.add(place)
            left -= 1
        assert {place for place, p in enumerate(corrected) if p <= alpha} == rejected


def test_holm_leaves_what_is_missing():
    assert holm(pd.Series([0.04, np.nan, 0.02])).to_list()[::2] == [0.04, 0.04]
    assert np.isnan(holm(pd.Series([0.04, np.nan])).to_list()[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"selection": "best_test_epoch"}, "scores have several values of selection"),
        ({"role": "train"}, "scores have several values of role"),
        ({"network": "resnet18"}, "data set glyphs has several values of network"),
    ],
)
def test_what_is_not_alike_is_not_paired(changes, message):
    values = {("margin", ""): [0.5], ("margin", "profs"): [0.6]}
    with pytest.raises(UserError, match=message):
        paired_differences(pd.concat([long_table(values), long_table(values, **changes)]), PROFS)


def test_a_reference_without_scores_names_those_there_are():
    scores = long_table({("margin", "profs"): [0.5], ("margin", ""): [0.5]})
    with pytest.raises(UserError, match=r"no scores of variant hncm .*\(base, profs\)"):
        paired_differences(scores, above("hncm", "profs", ""))


def test_methods_are_paired_by_seed_and_not_averaged():
    scores = long_table(
        {("a", "x"): [0.5, 0.7, 0.6], ("b", "x"): [0.6, 0.75, 0.72], ("c", "x"): [0.5, 0.7, 0.6]}
    )
    found = rows_of(paired_differences(scores, above("a", "b", "c"), between="method"))
    expected = stats.ttest_rel([0.6, 0.75, 0.72], [0.5, 0.7, 0.6]).confidence_interval(0.95)
    assert list(found) == [("b", "x"), ("c", "x")]
    better, same = found.values()
    assert (better.low, better.high) == pytest.approx((100 * expected.low, 100 * expected.high))
    assert (same.difference, same.low, same.high, same.pairs) == (0, 0, 0, 3)
    assert np.isnan(same.p_value)


def test_a_variant_has_a_reference_of_its_own():
    scores = long_table(
        {
            ("margin", ""): [0.5],
            ("margin", "rho"): [0.6],
            ("margin", "miner=D"): [0.7],
            ("margin", "miner=D,rho"): [0.9],
        }
    )
    found = rows_of(paired_differences(scores, {"rho": "", "miner=D,rho": "miner=D"}))
    differences = {variant: row.difference for (_, variant), row in found.items()}
    assert differences == pytest.approx({"rho": 10, "miner=D,rho": 20})


def test_measures_of_structure_are_no_percentages():
    scores = long_table({("margin", ""): [0.5], ("margin", "profs"): [0.75]}, metric="rho")
    (row,) = paired_differences(scores, PROFS).itertuples()
    assert (row.reference, row.value, row.difference) == (0.5, 0.75, 0.25)


def test_data_sets_are_distinguished():
    values = {("margin", ""): [0.5, 0.5], ("margin", "profs"): [0.6, 0.7]}
    one, other = long_table(values), long_table(values, dataset="omniglot", network="convnet4")
    frame = paired_differences(pd.concat([one, other]), PROFS)
    assert frame.dataset.to_list() == ["glyphs", "omniglot"]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_the_sign_test_counts_signs(differences):
    up, down = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    fewer = min(up, down)
    tail = stats.binom.cdf(fewer, up + down, 0.5)
    assert paired(differences).sign == pytest.approx(min(1, 2 * tail))


def test_equal_differences_have_no_p_value_whatever_their_last_digits():
    # 24 of 2,370 images in each pair: the three floating-point differences are not equal.
    more = 100 * (np.array([2241, 2242, 2243]) / 2370 - np.array([2217, 2218, 2219]) / 2370)
    assert len(set(more)) > 1
    for differences in (more, [0.1, 0.1, 0.1]):
        found = paired(differences)
        assert np.isnan(found.p_value)
        assert found.low == found.mean == found.high


def test_noise_is_no_difference_to_the_sign_test():
    found = paired([0.1 + 0.2 - 0.3] * 3)
    assert (found.mean, found.sign) == (0, 1)


def test_seeds_that_only_some_methods_have_are_in_no_mean_over_methods():
    seeds = {"contrastive": (0, 1), "margin": (1, 2), "triplet": (0, 2)}
    rows = [
        long_table({(method, variant): [0.5 + (0.1 if variant else 0)]}).assign(seed=seed)
        for method, of in seeds.items()
        for variant in ("", "profs")
        for seed in of
    ]
    frame = paired_differences(pd.concat(rows), PROFS)
    assert list(frame.method) == ["contrastive", "margin", "triplet"]
    complete = long_table({("margin", ""): [0.1] * 3, ("margin", "profs"): [0.2] * 3})
    both = pd.concat([complete, complete.assign(method="triplet")])
    lost = both[(both.method == "margin") | (both.seed != 0)]
    assert rows_of(paired_differences(lost, PROFS))["", "profs"].pairs == 2


def test_a_textbook_example():
    # Student 1908 (Cushny and Peebles): extra hours of sleep, t = 4.0621 with 9 degrees of freedom.
    hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = paired(hours)
    assert found.mean == pytest.approx(1.58)
    assert (found.low, found.high) == pytest.approx((0.7001, 2.4599), abs=1e-4)
    assert found.pairs == 10
    # Nine of nine that differ are above 0: 2 / 2^9.
    assert found.sign == pytest.approx(2 / 512)


def test_one_pair_has_no_interval():
    found = paired([0.5])
    assert found.mean == 0.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.sign == 1


def test_without_any_difference_nothing_is_shown():
    found = paired([0.0, 0.0, 0.0])
    assert (found.mean, found.low, found.high, found.sign, found.pairs) == (0, 0, 0, 1, 3)
    assert math.isnan(found.p_value)


@given(NUMBERS)
def test_the_other_direction_is_the_mirror_image(values):
    found, mirrored = paired(values), paired([-value for value in values])
    assert mirrored.mean == pytest.approx(-found.mean)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))
    assert mirrored.sign == found.sign


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=9, unique=True), st.floats(0.5, 20))
def test_fewer_pairs_than_needed_find_the_difference_too_rarely(differences, true):
    std, found = float(np.std(differences, ddof=1)), paired(differences)
    needed = pairs_needed(true, (found.high - found.low) / 2, found.pairs)

    def power(pairs):
        limit, shift = stats.t.ppf(0.975, pairs - 1), true * math.sqrt(pairs) / std
        return stats.nct.sf(limit, pairs - 1, shift)

    if needed is None:
        assert power(1000) < 0.8 + 1e-6
    elif std > 1e-3:
        assert power(needed) > 0.8 - 1e-6
        assert needed == 2 or power(needed - 1) < 0.8 + 1e-6

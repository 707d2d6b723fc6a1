"""Our numbers next to the printed: nothing is lost, and intervals have their coverage."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan.studies.mapping import Mapping, read_mapping
from dmlbench.statistics.comparison import COLUMNS, compare
from dmlbench.statistics.placement import place
from dmlbench.statistics.printed import decimals, read_printed
from scipy import stats

REFERENCE = Path(__file__).parents[2] / "config" / "reference"

OURS = {
    "run": "-",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": 64,
    "method": "triplet",
    "recipe": "psomas2020",
    "variant": "",
    "split": "half",
    "fold": "",
    "seed": 0,
    "role": "test",
    "selection": "best_test_epoch",
    "metric": "recall_at_1",
}
PRINTED = {
    "study": "somebody2020",
    "table": "table_01",
    "panel": "",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": "64",
    "method": "triplet",
    "variant": "",
    "split": "test",
    "metric": "recall_at_1",
    "std": "",
    "note": "",
}


def ours(*values, **common):
    """One run per value."""
    return pd.DataFrame([OURS | common | {"seed": s, "value": v} for s, v in enumerate(values)])


def printed(number, mean=None, **common):
    """One printed number, a rule and all."""
    value = {"value": str(number), "number": float(number), "decimals": decimals(str(number))}
    cells = pd.DataFrame([PRINTED | common | value | {"k": 1.0}])
    rules = [{"then": {"split": "half"}}]
    return place(cells, Mapping(rules=rules, means=[mean] if mean else []))


def psomas(*tables):
    folder = REFERENCE / "psomas2020"
    return place(read_printed(folder, tables), read_mapping(folder))


def only(frame):
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 1
    return frame.iloc[0]


def test_three_seeds_by_hand():
    # Mean 60, deviation 1; t(2) at 97.5 % is 4.302653, and sqrt(1 + 1/3) = 1.154701.
    row = only(compare(ours(0.59, 0.60, 0.61), printed(64.9)))
    assert row.status == "both"
    assert (row.ours, row.ours_std, row.seeds) == (pytest.approx(60), pytest.approx(1), 3)
    assert row.difference == pytest.approx(-4.9)
    assert row.low == pytest.approx(60 - 4.968275, abs=1e-5)
    assert row.high == pytest.approx(60 + 4.968275, abs=1e-5)
    assert row.inside
    # What is printed as 65.0 can be 64.95, which is inside.
    assert only(compare(ours(0.59, 0.60, 0.61), printed(65.0))).inside
    assert not only(compare(ours(0.59, 0.60, 0.61), printed(65.1))).inside


@pytest.mark.parametrize("values", [(0.64154, 0.64154, 0.64154), (0.64154, 0.64152, 0.64156)])
def test_a_number_that_ours_rounds_to_is_inside(values):
    # Seeds that agree, or nearly, have an interval narrower than the last printed digit.
    assert only(compare(ours(*values), printed("64.2"))).inside
    assert only(compare(ours(*values), printed("64.15"))).inside
    assert not only(compare(ours(*values), printed("64.3"))).inside


def test_a_printed_spread_of_0_says_nothing_about_the_spread():
    # roth2020's table 7 has rows with +-0.00: of one run, it seems, not of five that are equal.
    mean = {"runs": 5, "spread": "standard_deviation"}
    runs = (0.59, 0.60, 0.61)
    one = only(compare(ours(*runs), printed(63)))
    none = only(compare(ours(*runs), printed(63, mean=mean, std="0.00")))
    assert (none.low, none.high) == (one.low, one.high)
    assert none.inside


def test_one_seed_gives_a_difference_and_no_interval():
    row = only(compare(ours(0.6), printed(58)))
    assert row.difference == pytest.approx(2)
    assert row.seeds == 1
    assert pd.isna([row.ours_std, row.low, row.high, row.inside]).all()


def test_nothing_is_lost():
    mine = pd.concat([ours(0.5), ours(0.6, 0.7, method="ours_only", dataset="sop")])
    frame = compare(mine, pd.concat([printed(50), printed(70, method="margin")]))
    found = frame.set_index("method")[["status", "seeds"]].to_dict("index")
    assert found == {
        "triplet": {"status": "both", "seeds": 1},
        "ours_only": {"status": "ours alone", "seeds": 2},
        "margin": {"status": "not run", "seeds": 0},
    }
    alone = frame.set_index("method").loc["ours_only"]
    assert alone.low < alone.ours < alone.high
    assert pd.isna([alone.printed, alone.difference, alone.inside]).all()
    missing = frame.set_index("method").loc["margin"]
    assert pd.isna([missing.ours, missing.difference, missing.low, missing.inside]).all()


def test_every_printed_grid_cell_is_kept_next_to_an_empty_table_of_ours():
    tables = psomas("06", "07", "08", "09", "10", "20", "21")
    frame = compare(ours(0.6, network="vit_s16"), tables)
    assert frame.status.value_counts().to_dict() == {"not run": len(tables), "ours alone": 1}
    assert frame.printed.sum() == pytest.approx(tables.number.sum())


def test_roles_and_splits_find_their_printed_names():
    tables = psomas("14")
    family = {"network": "bninception", "embedding_dim": 512, "method": "multi_similarity"}
    runs = [
        ours(0.6, split=split, role=role, **family)
        for split in ("fixed-70", "fixed-80", "fixed-90", "fixed-95")
        for role in ("validation", "test")
    ]
    frame = compare(pd.concat(runs), tables)
    assert list(frame.status) == ["both"] * 8
    wanted = tables[(tables.split == "fixed-90") & (tables.role == "validation")]
    found = frame[(frame.split == "fixed-90") & (frame.role == "validation")]
    assert found.printed.tolist() == wanted.number.tolist()


def test_folds_are_compared_alone_and_as_their_mean():
    family = {"network": "bninception", "embedding_dim": 512, "method": "multi_similarity"}
    values = np.linspace(0.60, 0.66, 10)
    runs = [ours(v, split="half10fold", fold=str(k), **family) for k, v in enumerate(values)]
    mine = pd.concat(runs)
    tables = psomas("12", "13")
    frame = compare(mine, tables)
    mean = only(frame[(frame.fold == "mean") & (frame.status == "both")])
    assert (mean.seeds, mean.ours) == (10, pytest.approx(63))
    # Welch by scipy: the 95 % interval of the difference, moved to the printed number.
    error = (100 * values).std(ddof=1) / 10**0.5
    welch = stats.ttest_ind_from_stats(63, error * 10**0.5, 10, 63.61, 0.59, 10, equal_var=False)
    half = np.hypot(error, 0.59 / 10**0.5) * stats.t.ppf(0.975, _freedom(error, 0.59 / 10**0.5))
    assert mean.high - mean.ours == pytest.approx(half)
    assert mean.inside == (welch.pvalue > 0.05)
    third = only(frame[(frame.fold == "2") & (frame.role == "test")])
    assert (third.status, third.ours) == ("both", pytest.approx(100 * values[2]))


def _freedom(one, two):
    return (one**2 + two**2) ** 2 / (one**4 / 9 + two**4 / 9)


def test_welch_agrees_with_scipy_at_the_edge():
    runs = np.array([0.60, 0.62, 0.63, 0.61])
    low, high = only(compare(ours(*runs), _roth(60)))[["low", "high"]]
    for edge in (low, high):
        test = stats.ttest_ind_from_stats(
            100 * runs.mean(), 100 * runs.std(ddof=1), 4, edge, 0.8, 5, equal_var=False
        )
        assert test.pvalue == pytest.approx(0.05)


def _roth(number):
    return printed(number, mean={"runs": 5, "spread": "standard_deviation"}, std="0.8")


def test_a_printed_spread_over_n_is_that_of_n_minus_one_times_a_root():
    """roth2020's tables: NumPy's default."""
    over_n = {"runs": 5, "spread": "standard_deviation_over_n"}
    runs = ours(0.58, 0.60, 0.61, 0.63)
    found = only(compare(runs, printed(62, mean=over_n, std="0.8")))
    usual = {"runs": 5, "spread": "standard_deviation"}
    expected = only(compare(runs, printed(62, mean=usual, std=str(0.8 * (5 / 4) ** 0.5))))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.printed_std == 0.8


def test_a_printed_half_width_is_an_error_of_the_mean():
    theirs = printed(60, mean={"runs": "unknown", "spread": "half_interval_95"}, std="1.96")
    row = only(compare(ours(0.60, 0.60, 0.60), theirs))
    assert row.status == "both"
    assert row.high - row.ours == pytest.approx(1.96, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_intervals_hold_one_further_run_as_often_as_they_say(seeds):
    trials = 4000
    runs = np.random.default_rng(seeds).normal(0.6, 0.01, (trials, seeds + 1))
    mine = pd.concat(
        [ours(*[0] * trials).assign(value=runs[:, s], seed=s) for s in range(seeds)]
    ).assign(method=[f"m{i}" for _ in range(seeds) for i in range(trials)])
    theirs = pd.concat([printed(0)] * trials).assign(
        number=100 * runs[:, -1], decimals=12, method=[f"m{i}" for i in range(trials)]
    )
    covered = int(compare(mine, theirs).inside.sum())
    low, high = stats.binom.interval(0.999, trials, 0.95)
    assert low <= covered <= high


def test_another_variant_or_split_is_another_number():
    other = pd.concat([ours(0.5), ours(0.6, variant="warmup5"), ours(0.7, split="official")])
    frame = compare(other, printed(50)).set_index(["variant", "split"])
    assert frame.status.to_dict() == {
        ("", "half"): "both",
        ("", "official"): "ours alone",
        ("warmup5", "half"): "ours alone",
    }


def test_a_number_without_a_place_is_cited():
    cited = printed(50).assign(why="cited from another paper", method="hdc")
    frame = compare(ours(0.5), pd.concat([printed(50), cited])).set_index("method")
    assert frame.status.to_dict() == {"triplet": "both", "hdc": "cited"}


def test_the_best_fold_is_chosen_by_validation_and_scored_on_test():
    rows = [
        ours(v, split="folds", fold=str(k), metric=metric, role=role, selection="last_epoch")
        for role, metric, values in (
            ("validation", "map_at_r", [0.2, 0.4, 0.3]),
            ("validation", "recall_at_1", [0.9, 0.1, 0.1]),
            ("test", "recall_at_1", [0.6, 0.5, 0.7]),
        )
        for k, v in enumerate(values)
    ]
    theirs = printed(49).assign(split="folds", fold="best", by="map_at_r")
    frame = compare(pd.concat(rows), theirs)
    row = only(frame[(frame.role == "test") & (frame.status == "both")])
    assert (row.fold, row.seeds, row.difference) == ("best", 1, pytest.approx(1))
    assert set(frame.fold) == {"best"}


def test_of_equally_good_folds_the_first_is_the_best():
    rows = [
        ours(value, split="folds", fold=fold, role=role, selection="last_epoch")
        for role, values in (("validation", [0.3, 0.4, 0.4]), ("test", [0.6, 0.5, 0.7]))
        for fold, value in zip("012", values, strict=True)
    ]
    theirs = printed(49).assign(split="folds", fold="best", by="recall_at_1")
    row = only(compare(pd.concat(rows), theirs).query("role == 'test' and status == 'both'"))
    assert row.ours == pytest.approx(50)


def test_what_does_not_go_together_is_named():
    with pytest.raises(
        UserError, match=r"triplet .*several selection rules \(best_test_epoch, last_epoch\)"
    ):
        compare(pd.concat([ours(0.5), ours(0.5, selection="last_epoch")]), printed(50))
    with pytest.raises(UserError, match=r"triplet .*several recipes \(a, b\)"):
        compare(pd.concat([ours(0.5, recipe="a"), ours(0.5, recipe="b")]), printed(50))
    with pytest.raises(UserError, match="two printed numbers for cub200 resnet50 64 triplet"):
        compare(ours(0.5), pd.concat([printed(50), printed(51)]))

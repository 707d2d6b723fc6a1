"""Verdicts on printed numbers: by hand on small tables."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.plan.studies.mapping import Mapping
from dmlbench.statistics.aggregation import no_scores
from dmlbench.statistics.audit import COLUMNS as AUDIT_COLUMNS
from dmlbench.statistics.placement import place
from dmlbench.statistics.printed import decimals
from dmlbench.statistics.printed_verdicts import (
    CANNOT_BE,
    DIFFERS,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    verdicts,
)
from scipy import stats

RUN = {
    "run": "-",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": 64,
    "recipe": "printed",
    "variant": "",
    "split": "half",
    "fold": "",
    "role": "test",
    "selection": "last_epoch",
    "metric": "recall_at_1",
}
CELL = {
    "study": "somebody2020",
    "table": "table_01",
    "panel": "a",
    "dataset": "cub200",
    "network": "resnet50",
    "embedding_dim": "64",
    "variant": "",
    "split": "test",
    "metric": "recall_at_1",
    "std": "",
    "note": "",
    "k": 1.0,
}
JUDGED = {"noise": 0.3, "freedom": 20.0, "printed_error": 0.3, "margin": 1.5, "nearest": np.inf}
NO_FINDINGS = pd.DataFrame(columns=AUDIT_COLUMNS, dtype=str)


def ours(**percentages):
    """Method -> one number per seed."""
    return pd.DataFrame(
        [
            RUN | {"method": method, "seed": seed, "value": value / 100}
            for method, values in percentages.items()
            for seed, value in enumerate(values)
        ]
    )


def printed(table="table_01", judged=None, **numbers):
    """Method -> printed number, with the noise, margin and so on of `judged`."""
    cells = [
        CELL
        | {"table": table, "method": method, "value": str(number), "number": float(number)}
        | {"decimals": decimals(str(number))}
        for method, number in numbers.items()
    ]
    placed = place(pd.DataFrame(cells), Mapping(rules=[{"then": {"split": "half"}}]))
    return placed.assign(**JUDGED | (judged or {}))


def finding(**columns):
    certain = {"study": "somebody2020", "rule": "repeated", "table": "1a", "sure": "certain"}
    certain["blames"] = "number"
    return pd.DataFrame([dict.fromkeys(AUDIT_COLUMNS, "") | certain | columns])


def judged(scores, placed, findings=NO_FINDINGS):
    return verdicts(scores, placed, findings)["verdict"].to_list()


def test_one_run_by_hand():
    # Of one run: sqrt(0.3^2 + 0.3^2 + 0.1^2 / 12) = 0.42525, times t(20) = 1.7247 is 0.7334.
    found = verdicts(ours(triplet=[60.0]), printed(triplet="59.4"), NO_FINDINGS).iloc[0]
    assert (found["low"], found["high"]) == pytest.approx((0.6 - 0.7334, 0.6 + 0.7334), abs=1e-4)
    assert found["verdict"] == REPRODUCED
    numbers = {"triplet": "59.3", "margin": "59.2", "n_pair": "57.8", "arcface": "57.7"}
    runs = ours(**{name: [60.0] for name in numbers})
    # 1.5 - 0.7334 and 1.5 + 0.7334.
    assert judged(runs, printed(**numbers)) == [REPRODUCED, INCONCLUSIVE, INCONCLUSIVE, DIFFERS]


def test_a_number_of_another_epoch_than_ours_has_no_verdict():
    placed = printed(triplet="60.0", margin="60.0").assign(selection=["own_best_test_epoch", ""])
    runs = ours(triplet=[60.0], margin=[60.0])
    assert judged(runs, placed) == [NOT_RUN, REPRODUCED]
    found = verdicts(runs.assign(selection="own_best_test_epoch"), placed, NO_FINDINGS)
    assert found["verdict"].to_list() == [REPRODUCED, REPRODUCED]
    assert set(found["selection"]) == {"own_best_test_epoch"}


def test_seeds_are_pooled_with_the_paper_s_noise():
    found = verdicts(ours(triplet=[60.0, 60.6]), printed(triplet="60.30"), NO_FINDINGS).iloc[0]
    variance = (20 * 0.3**2 + 0.6**2 / 2) / 21
    error = np.sqrt(variance / 2 + 0.3**2 + 0.01**2 / 12)
    assert found["high"] == pytest.approx(stats.t.ppf(0.95, 20) * error)


def test_seeds_that_scatter_more_than_the_paper_s_count_alone():
    runs = [56.0, 60.0, 64.0]
    found = verdicts(ours(triplet=runs), printed(triplet="60.0"), NO_FINDINGS).iloc[0]
    error = np.sqrt(np.var(runs, ddof=1) / 3 + 0.3**2 + 0.1**2 / 12)
    assert found["high"] == pytest.approx(stats.t.ppf(0.95, 2) * error)
    assert found["verdict"] == INCONCLUSIVE


def test_without_known_noise_seeds_decide_and_one_run_does_not():
    unknown = {"noise": np.nan, "freedom": np.nan, "printed_error": np.nan}
    placed = printed(triplet="60.0", margin="60.0", n_pair="66.0", judged=unknown)
    scores = ours(triplet=[60.0], margin=[60.0, 60.1, 59.9], n_pair=[60.0, 60.1, 59.9])
    found = verdicts(scores, placed, NO_FINDINGS)
    assert found["verdict"].to_list() == [INCONCLUSIVE, REPRODUCED, DIFFERS]
    # As one more run of ours.
    error = np.sqrt(0.01 / 3 + 0.01 + 0.01 / 12)
    assert found["high"][1] == pytest.approx(stats.t.ppf(0.95, 2) * error)
    assert found[["low", "seeds_needed"]].iloc[0].isna().all()


def test_a_number_that_other_methods_have_as_well_is_inconclusive():
    crowded = printed(triplet="60.0", margin="60.0", judged={"nearest": 0.7})
    scores = ours(triplet=[60.0], margin=[65.0])
    found = verdicts(scores, crowded, NO_FINDINGS)
    # Beyond the margin is beyond it, however crowded the column.
    assert found["verdict"].to_list() == [INCONCLUSIVE, DIFFERS]
    assert (found["seeds_needed"] == np.inf).all()


@pytest.mark.slow
def test_the_seeds_needed_are_those_that_reproduce_a_true_number_in_four_of_five_cases():
    known = {"margin": 1.1, "freedom": 1e6}
    placed = printed(triplet="60.00", judged=known)
    needed = int(verdicts(no_scores(), placed, NO_FINDINGS)["seeds_needed"][0])
    assert needed > 1
    generator = np.random.default_rng(0)
    for seeds, enough in ((needed, True), (needed - 1, False)):
        names = [f"m{i}" for i in range(2000)]
        truth = 60 + generator.normal(0, 0.3, len(names))
        runs = truth[:, None] + generator.normal(0, 0.3, (len(names), seeds))
        scores = ours(**dict(zip(names, runs, strict=True)))
        many = printed(judged=known, **dict.fromkeys(names, "60.00"))
        share = np.mean([verdict == REPRODUCED for verdict in judged(scores, many)])
        assert (share > 0.8) == enough


def test_what_did_not_run_and_what_cannot_be():
    placed = printed(triplet=60, margin=120, n_pair=61)
    wrong = finding(method="margin", dataset="cub200", metric="recall_at_1")
    assert judged(ours(margin=[50.0]), placed, wrong) == [NOT_RUN, CANNOT_BE, NOT_RUN]


@pytest.mark.parametrize(
    ("columns", "about"),
    [
        ({"method": "triplet", "metric": "R@1/2/4"}, ["triplet"]),
        ({"method": "triplet", "metric": "nmi, recall_at_1"}, ["triplet"]),
        ({"method": "triplet", "metric": "R@2/4"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "table": "1b"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "variant": "D"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "sure": "likely"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "blames": "sentence"}, []),
        # A misprinted formula is no misprinted number.
        ({"method": "2 methods", "metric": "recall_at_1"}, []),
        ({"method": "triplet", "metric": "recall_at_1", "blames": "formula"}, []),
    ],
)
def test_which_numbers_a_finding_is_about(columns, about):
    wrong = finding(**columns)
    found = verdicts(no_scores(), printed(triplet=60, margin=61), wrong)
    assert found.loc[found["verdict"] == CANNOT_BE, "method"].to_list() == about


def test_a_table_that_repeats_a_number_has_a_verdict_of_its_own():
    placed = pd.concat([printed(triplet=60), printed(table="table_02", triplet=70)])
    placed = placed.reset_index(drop=True)
    assert judged(ours(triplet=[60.0, 60.0, 60.0]), placed) == [REPRODUCED, DIFFERS]

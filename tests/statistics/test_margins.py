"""Noise and margins: the committed ones are those of the printed numbers; others by hand."""

import sys

import numpy as np
import pandas as pd
import pytest
from dmlbench.plan.studies.mapping import When
from dmlbench.plan.studies.margins import Control, read_sources
from dmlbench.statistics.margins import COLUMNS, nearest, read_margins, with_margins
from dmlbench.statistics.placement import KEY, read_placed
from project import REPOSITORY
from scipy import stats

sys.path.insert(0, str(REPOSITORY / "benchmarks"))
from margins import alike, margins_of, noise_of

REFERENCE = REPOSITORY / "config" / "reference"
PAPERS = sorted(path.parent.name for path in REFERENCE.glob("*/margins.yaml"))


def test_every_paper_has_margins():
    assert sorted(path.parent.name for path in REFERENCE.glob("*/mapping.yaml")) == PAPERS


@pytest.mark.parametrize("paper", PAPERS)
def test_committed_margins_are_those_of_the_printed_numbers(paper):
    committed, computed = read_margins(REFERENCE / paper), margins_of(REFERENCE / paper)
    assert list(committed.columns) == COLUMNS
    pd.testing.assert_frame_equal(committed, computed, rtol=1e-3, check_dtype=False)


def noise(paper, dataset, metric):
    found = noise_of(REFERENCE / paper).set_index(["dataset", "metric"])
    return found.loc[(dataset, metric)]


def test_the_hidden_repeats_of_karaman2021():
    # Pooled by hand in docs/karaman2021.md.
    assert noise("karaman2021", "cub200", "recall_at_1")["noise"] == pytest.approx(0.38, abs=0.005)
    assert noise("karaman2021", "cub200", "map_at_r")["noise"] == pytest.approx(0.105, abs=0.0005)
    assert noise("karaman2021", "cub200", "recall_at_1")["freedom"] == 17
    moving = read_sources(REFERENCE / "karaman2021").noise.repeats
    cells = read_placed((REFERENCE / "karaman2021").glob("table_*.csv"))
    groups = alike(cells[cells["metric"] == "recall_at_1"], moving, ["dataset", "method"])
    assert sum(len(group) - 1 for group in groups) == 17
    assert max(np.ptp(group["number"]) for group in groups) == pytest.approx(1.20)


def test_the_twin_cells_of_roth2020():
    # R@1 of tables 6 and 9 at the setting that both print: NormalizedSoftmax, Margin and so on.
    apart = [1.78, 0.19, 0.15, 0.44, 1.20, 1.00]
    rerun = np.median(apart) / 2**0.5 / stats.norm.ppf(0.75)
    found = noise("roth2020", "sop", "recall_at_1")
    assert found["rerun"] == pytest.approx(rerun)
    assert found["freedom"] == 6


@pytest.mark.slow
def test_folds_intervals_and_what_is_borrowed():
    folds = np.sqrt(np.mean(np.square([0.59, 0.48, 0.44])))
    assert noise("psomas2020", "cub200", "recall_at_1")["noise"] == pytest.approx(folds)
    printed = read_placed((REFERENCE / "musgrave2020").glob("table_*.csv"))
    half = printed.loc[printed.metric.eq("map_at_r") & printed.dataset.eq("sop"), "printed_std"]
    one_run = np.sqrt(np.mean(half**2)) * 10**0.5 / stats.t.ppf(0.975, 9)
    assert noise("musgrave2020", "sop", "map_at_r")["noise"] == pytest.approx(one_run)
    borrowed, own = noise("can2019", "sop", "nmi"), noise("roth2020", "sop", "nmi")
    assert borrowed["noise"] == own["noise"]
    assert borrowed["source"] == "roth2020: printed deviations"
    # R@8 has that of R@2, the next smaller k with a source.
    larger = noise("can2019", "cub200", "recall_at_8")
    assert larger["noise"] == noise("roth2020", "cub200", "recall_at_2")["noise"]
    assert larger["source"].endswith("of recall_at_2")
    assert np.isnan(noise("karaman2021", "toy", "map_at_r")["noise"])


def test_a_margin_lets_five_runs_show_a_true_number_nine_times_in_ten():
    found = read_margins(REFERENCE / "karaman2021").set_index(["dataset", "metric"])
    row = found.loc[("cub200", "recall_at_8")]
    total = np.hypot(row.noise / 5**0.5, row.error)
    assert row.margin == pytest.approx(2 * stats.t.ppf(0.95, 17) * total, rel=1e-3)
    # Where methods differ by much, a fifth of their deviation is more.
    row = found.loc[("cub200", "map_at_r")]
    assert row.margin == pytest.approx(0.2 * row.spread, rel=1e-3)


def column(**numbers):
    """One column: method or method/variant -> number."""
    cells = [
        dict.fromkeys([*KEY, "printed_variant", "why", "table"], "")
        | {"embedding_dim": 64, "method": name.split("/")[0], "number": number}
        | {"variant": name.partition("/")[2], "printed_variant": name.partition("/")[2]}
        | {"printed_method": name.split("/")[0], "dataset": "cub200", "metric": "recall_at_1"}
        for name, number in numbers.items()
    ]
    return pd.DataFrame(cells)


def test_the_nearest_is_another_method_the_mean_or_no_effect():
    numbers = {"triplet": 60.0, "margin": 61.0, "margin/D": 61.2, "contrastive": 70.0}
    # The mean is 63.05. Variants of one method are not mistaken for each other.
    assert nearest(column(**numbers), []) == pytest.approx([1.0, 1.0, 1.2, 6.95])
    control = Control(when=When(variant=["D"]), without=[""])
    assert nearest(column(**numbers), [control]) == pytest.approx([1.0, 1.0, 0.2, 6.95])


def test_one_of_twenty_other_methods_may_be_nearer():
    numbers = {f"m{i}": float(i) for i in range(21)} | {"m20": 60.0, "m19": 59.9}
    found = nearest(column(**numbers), [])
    assert found[20] == pytest.approx(42.0)
    assert nearest(column(triplet=60.0), []) == [np.inf]


def test_numbers_without_a_place_have_no_margin():
    folder = REFERENCE / "can2019"
    placed = with_margins(read_placed(sorted(folder.glob("table_*.csv"))), folder)
    cited = placed["why"] != ""
    assert placed.loc[cited, ["margin", "noise", "freedom"]].isna().all(axis=None)
    assert placed.loc[~cited, ["margin", "noise", "printed_error"]].notna().all(axis=None)

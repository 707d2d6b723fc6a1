"""Means of orders over networks and data sets: by simulation, by hand, by mean squares."""

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics import generalizability
from dmlbench.statistics.generalizability import agreements, by_run
from dmlbench.statistics.order_means import averaged, by_cell, in_cells, lengthened, over_cells
from scipy import stats
from test_generalizability import COMPONENTS, by_mean_squares, crossed


def test_a_mean_over_cells_predicts_another_cell_as_the_formula_says(monkeypatch):
    """Correlations of five times four cells, drawn for many losses, from those of all pairs."""
    monkeypatch.setattr(generalizability, "_DRAWS", 200)
    table = by_run(crossed(0, losses=300, networks=6, datasets=5))
    ((new, own),) = averaged(table, [[5, 4]])
    cells = by_cell(table)
    cells /= cells.std()
    network, dataset = (cells.columns.get_level_values(level) for level in ("network", "dataset"))
    predicted = []
    for name, data, _ in cells:
        mean = cells.loc[:, (network != name) & (dataset != data)].mean(axis=1)
        predicted.append(mean.corr(cells[name, data, ""]))
    assert new.value == pytest.approx(np.mean(predicted), abs=0.01)
    assert new.low < new.value < new.high
    # The losses' own order is what all cells would have as their mean.
    single = agreements(by_cell(table))["neither"].pearson.value
    assert own.value == pytest.approx(new.value / single**0.5)


def test_one_cell_predicts_another_as_they_correlate_and_more_cells_predict_more():
    table = by_run(crossed(1, components=COMPONENTS | {"loss": 20.0}))
    designs = [[1, 1], [1, 3], [2, 3], [10, 10], [1000, 1000]]
    new, own = zip(*averaged(table, designs), strict=True)
    single = agreements(by_cell(table))["neither"].pearson
    assert new[0][:3] == pytest.approx(np.maximum(single[:3], 0))
    assert [each.value for each in own] == sorted(each.value for each in own)
    assert own[-1].value == pytest.approx(1, abs=0.01)
    assert new[-1].value == pytest.approx(single.value**0.5, abs=0.01)


def test_losses_without_an_order_of_their_own_are_not_predicted():
    table = by_run(crossed(5, networks=2, datasets=2))
    table["n0", "d0"] = -table["n1", "d1"].to_numpy()
    table["n0", "d1"] = -table["n1", "d0"].to_numpy()
    assert agreements(by_cell(table))["neither"].pearson.value < 0
    ((new, own),) = averaged(table, [[1, 3]])
    assert (new.value, own.value) == (0, 0)


def test_means_of_parallel_tests_correlate_as_brown_and_spearman_say():
    random = np.random.default_rng(2)
    true = random.normal(size=(100_000, 1))
    runs = true + random.normal(size=(100_000, 6))
    single = np.corrcoef(runs[:, 0], runs[:, 1])[0, 1]
    threes = np.corrcoef(runs[:, :3].mean(1), runs[:, 3:].mean(1))[0, 1]
    assert lengthened(single, 3) == pytest.approx(threes, abs=0.01)
    assert lengthened(single, 1) == single


def test_the_interval_in_a_cell_by_hand():
    table = by_run(crossed(3, losses=5))
    found = in_cells(table).set_index(["network", "dataset", "method"])
    runs = table["n1", "d2"].to_numpy()
    runs = runs - runs.mean(0)
    left = runs - runs.mean(1, keepdims=True)
    # Four free differences between losses; splits of halves have an error of 1/2 + 1.
    variance = (left**2).sum() / 4 * (1 - 1 / 5) * (1 / 2 + 1)
    for loss, method in enumerate(table.index):
        row = found.loc["n1", "d2", method]
        assert row["value"] == pytest.approx(runs[loss].mean())
        assert row["half"] == pytest.approx(stats.t.ppf(0.975, 4) * variance**0.5)
    alone = in_cells(by_run(crossed(3, splits=1)))
    assert alone["half"].isna().all()


def test_the_interval_over_cells_by_mean_squares():
    table = by_run(crossed(4))
    of = by_mean_squares(table, 2, 3, 2)
    variance = of["with_network"] / 2 + of["with_dataset"] / 3 + of["with_both"] / 6
    variance += of["with_classes"] / 6 + of["rest"] / 12
    found = over_cells(table)
    half = stats.t.ppf(0.975, 8) * (variance * (1 - 1 / 9)) ** 0.5
    assert (found["high"] - found["low"]).to_numpy() == pytest.approx(2 * half)
    assert found["value"].to_numpy() == pytest.approx(
        (table - table.mean()).mean(axis=1).to_numpy()
    )


def test_intervals_over_cells_hold_what_losses_are_on_others():
    """Nine losses with an order of their own, on two networks and three data sets."""
    components = {source: value for source, value in COMPONENTS.items() if source != "loss"}
    true = np.linspace(-2, 2, 9)
    held = []
    for number in range(60):
        scores = crossed([number, 6], components)
        own = scores["method"].str.removeprefix("m").astype(int)
        found = over_cells(by_run(scores.assign(value=scores["value"] + true[own])))
        held.append((found["low"] <= true) & (true <= found["high"]))
    assert np.mean(held) > 0.93


def test_losses_that_are_far_apart_are_shown_to_be():
    scores = crossed(7, losses=4)
    better = {"m0": 0, "m1": 100, "m2": 101, "m3": 200}
    found = over_cells(by_run(scores.assign(value=scores["value"] + scores["method"].map(better))))
    assert list(found["above"]) == [0, 1, 1, 3]
    assert list(found["below"]) == [3, 1, 1, 0]


def test_a_cell_that_is_missing_is_refused():
    table = by_run(crossed(8))
    with pytest.raises(UserError, match="5 cells of 2 networks and 3 data sets"):
        over_cells(table.drop(columns=("n0", "d0"), level=None))
    with pytest.raises(UserError, match="1 networks"):
        averaged(table[["n0"]], [[1, 1]])

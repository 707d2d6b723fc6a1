"""Intervals hold their targets as often as they say: benchmarks/intervals.py, and its results."""

import json
import sys
from pathlib import Path

import pytest
from scipy import stats

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import crossed_orders  # noqa: E402
import intervals as simulation  # noqa: E402

CASES = [case for case in simulation.cases() if "mean of all" not in case[1]]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1]}")
def test_an_interval_holds_its_target(case):
    trials = 150
    held = round(simulation.coverage(case, trials) * trials)
    assert held >= stats.binom.ppf(0.001, trials, 0.93)


def test_the_published_coverage_is_that_of_every_case():
    published = json.loads((REPOSITORY / "results/benchmarks/intervals.json").read_text())
    rows = published["rows"]
    assert [(row["interval"], row["simulated"]) for row in rows] == [
        case[:2] for case in simulation.cases()
    ]
    for row in rows:
        assert "mean of all" in row["simulated"] or row["coverage"] >= 0.9, row
    page = (REPOSITORY / "docs" / "intervals.md").read_text()
    assert simulation.table(rows) in page
    assert simulation.sentence(published["times_as_wide"]) in page


def test_the_published_rates_of_orders_are_those_of_every_case():
    published = json.loads((REPOSITORY / "results/benchmarks/crossed-orders.json").read_text())
    rows = published["rows"]
    assert [((row["losses"], row["networks"], row["datasets"]), row["own"]) for row in rows] == [
        (design, own / 2) for design in crossed_orders.DESIGNS for own in crossed_orders.OWN
    ]
    assert all(row[f"holds_{each}"] >= 0.9 for row in rows for each in ("correlation", "means"))
    assert all(row["holds_ahead"] >= 0.9 for row in rows)
    assert crossed_orders.table(rows) in (REPOSITORY / "docs" / "intervals.md").read_text()


@pytest.mark.slow
def test_intervals_of_orders_hold_as_simulated():
    found = crossed_orders.simulated((9, 2, 3), 0.5, 40)
    for interval in ("ahead", "correlation", "means"):
        assert found[f"holds_{interval}"] >= stats.binom.ppf(0.001, 40, 0.93) / 40

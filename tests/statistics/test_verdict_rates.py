"""How often verdicts are wrong: a small part of benchmarks/verdicts.py, with fixed seeds."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from dmlbench.statistics.verdicts import DIFFERS, REPRODUCED

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import verdicts as simulation  # noqa: E402

pytestmark = pytest.mark.slow


def simulated(study, scenario, runs):
    (row,) = simulation.rates(study, [scenario], [runs], 1)
    return row


@pytest.mark.parametrize("study", ["can2019", "musgrave2020"])
def test_five_seeds_reproduce_the_truth_where_the_column_allows_it(study):
    row = simulated(study, simulation.TRUTH, 5)
    assert row["judged"] >= 30
    assert row[f"judged {REPRODUCED}"] >= 0.8 * row["judged"]
    # Where it does not, no verdict is wrong.
    assert row[DIFFERS] <= 0.05 * row["numbers"]


@pytest.mark.parametrize("scenario", simulation.WRONG)
@pytest.mark.parametrize("runs", [1, 5])
def test_what_is_wrong_is_not_reproduced(scenario, runs):
    row = simulated("can2019", scenario, runs)
    assert row["numbers"] >= 100
    assert row[REPRODUCED] <= 0.05 * row["numbers"]


def test_the_published_rates_hold_to_what_is_promised():
    published = json.loads((REPOSITORY / "results/benchmarks/verdicts.json").read_text())
    frame = pd.DataFrame(published["rates"])
    assert set(frame["study"]) == set(simulation.STUDIES)
    assert set(frame["seeds"]) == set(simulation.RUNS)
    assert set(frame["scenario"]) == set(simulation.SCENARIOS)
    wrong = frame[frame["scenario"].isin(simulation.WRONG)]
    assert (wrong[REPRODUCED] <= 0.05 * wrong["numbers"]).all()
    truth = frame[(frame["scenario"] == simulation.TRUTH) & (frame["seeds"] == 5)]
    assert (truth[f"judged {REPRODUCED}"] >= 0.8 * truth["judged"]).all()
    page = (REPOSITORY / "docs" / "verdicts.md").read_text()
    assert simulation.tables(published["rates"]) in page

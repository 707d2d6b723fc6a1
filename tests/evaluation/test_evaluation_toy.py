"""The input-space row of karaman2021's table 4.1, from its description of the toy data."""

import csv

import numpy as np
import pytest
from dmlbench.evaluation import evaluate

METRICS = ["recall_at_1", "recall_at_8", "r_precision", "map_at_r"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def printed(shared):
    """Percent by metric."""
    with open(shared / "reference" / "karaman2021" / "table_4_01.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "input_space"]
    return {row["metric"]: float(row["value"]) for row in rows}


@pytest.fixture(scope="module")
def draws():
    """Percent by metric of 100 draws: 12 Gaussian classes of 200 points, covariance 0.02 I, whose
    means are uniform in the unit cube."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 200)
    scores = []
    for _ in range(100):
        x = rng.random((12, 3))[y] + np.sqrt(0.02) * rng.normal(size=(2400, 3))
        scores.append(evaluate(x, y, metrics=METRICS, distance="euclidean").scores)
    return {name: 100 * np.array([draw[name] for draw in scores]) for name in METRICS}


def deviations_away(what, printed, drawn, deviation, capsys):
    """Printed whether or not the test passes: it is the answer."""
    away = (printed - drawn) / deviation
    with capsys.disabled():
        drawn = f"{drawn:.2f} +- {deviation:.2f}"
        print(f"\n{what}: printed {printed}, drawn {drawn}, {away:+.2f} deviations away")
    return abs(away)


@pytest.mark.parametrize("metric", METRICS)
def test_printed_scores_of_the_input_space_are_a_likely_draw(printed, draws, metric, capsys):
    mean, deviation = draws[metric].mean(), draws[metric].std(ddof=1)
    assert deviations_away(metric, printed[metric], mean, deviation, capsys) < 3


@pytest.mark.parametrize(
    ("metric", "fits"), [("recall_at_1", True), ("recall_at_8", True), ("map_at_r", False)]
)
def test_the_printed_map_at_r_alone_does_not_fit_its_row(printed, draws, metric, fits, capsys):
    """Given its R-precision, the other metrics of a draw vary little."""
    line = np.polynomial.Polynomial.fit(draws["r_precision"], draws[metric], 1)
    deviation = (draws[metric] - line(draws["r_precision"])).std(ddof=2)
    what, expected = f"{metric} at the printed R-precision", line(printed["r_precision"])
    away = deviations_away(what, printed[metric], expected, deviation, capsys)
    assert (away < 3) == fits

"""The input-space row of karaman2021's table 4.1, from its description of the toy data."""

import csv

import numpy as np
import pytest
from dmlbench.evaluation import evaluate

METRICS = ["recall_at_1", "recall_at_8", "r_precision", "map_at_r"]


@pytest.mark.slow
def test_printed_scores_of_the_input_space_are_a_likely_draw(shared, capsys):
    """12 Gaussian classes of 200 points, means uniform in the unit cube, covariance 0.02 I."""
    printed = {}
    with open(shared / "reference" / "karaman2021" / "table_4_01.csv") as file:
        for row in csv.DictReader(file):
            if row["method"] == "input_space" and row["metric"] in METRICS:
                printed[row["metric"]] = float(row["value"])
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(100):
        y = np.repeat(np.arange(12), 200)
        x = rng.random((12, 3))[y] + np.sqrt(0.02) * rng.normal(size=(2400, 3))
        draws.append(evaluate(x, y, metrics=METRICS, distance="euclidean").scores)
    with capsys.disabled():
        print()
        for name in METRICS:
            values = 100 * np.array([draw[name] for draw in draws])
            mean, deviation = values.mean(), values.std(ddof=1)
            away = (printed[name] - mean) / deviation
            drawn = f"{mean:.2f} +- {deviation:.2f}"
            print(f"{name}: printed {printed[name]}, drawn {drawn}, {away:+.2f} deviations away")
            assert abs(away) < 3

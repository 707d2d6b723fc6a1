"""Runs that were trained again: their verdicts, from scores that are written by hand."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import SCHEMA
from dmlbench.statistics.certificate import by_run, compare, noise_of_seeds

SCORE = {"run": "a", "dataset": "glyphs", "network": "convnet", "embedding_dim": 8}
SCORE |= {"method": "margin", "recipe": "short", "variant": "", "split": "half", "fold": ""}
SCORE |= {"seed": 0, "role": "test", "selection": "last_epoch", "metric": "recall_at_1"}
NOISE = {("glyphs", "convnet", 8, "recall_at_1"): 0.01}


def scores(*values, **changes):
    rows = [SCORE | {"run": f"run {n}", "value": value} for n, value in enumerate(values)]
    return pd.DataFrame(rows)[SCHEMA.names].assign(**changes)


def test_a_score_is_equal_within_the_noise_or_different():
    # Two seeds differ by up to 1.96 * sqrt(2) deviations, 2.77 points here.
    found = compare(scores(0.5, 0.5, 0.5), scores(0.5, 0.5276, 0.5278), NOISE)
    assert found["verdict"].tolist() == ["equal", "within the noise of seeds", "different"]
    assert found["noise"].tolist() == [0.01] * 3


def test_without_known_noise_a_score_is_equal_or_different():
    found = compare(scores(0.5, 0.5), scores(0.5, 0.5 + 1e-16 * 2), {})
    assert found["verdict"].tolist() == ["equal", "different"]
    assert found["noise"].isna().all()


def test_a_run_with_several_names_counts_once_and_others_are_left_out():
    published = pd.concat([scores(0.5, 0.6), scores(0.5, variant="again")])
    found = compare(published, scores(0.5), NOISE)
    assert found["run"].tolist() == ["run 0"]
    with pytest.raises(UserError, match="nothing to compare: no run was scored by a metric"):
        compare(published, scores(0.5, metric="nmi"), NOISE)


def test_runs_are_counted():
    found = by_run(compare(scores(0.5, 0.25), scores(0.5, 0.125), NOISE))
    assert found.loc["run 0"].tolist() == [1, 0, 0, 0]
    assert found.loc["run 1"].tolist() == [0, 0, 1, 12.5]


def test_the_noise_is_pooled_over_rows_with_several_seeds():
    draws = np.random.default_rng(0).normal(scale=[[0.1], [0.3]], size=(2, 5))
    tables = [
        scores(*draws[n], method=method).assign(seed=range(5))
        for n, method in enumerate(["margin", "triplet"])
    ]
    found = noise_of_seeds([*tables, scores(0.5, 0.9, split="other").iloc[:1]])
    expected = np.sqrt((np.var(draws[0], ddof=1) + np.var(draws[1], ddof=1)) / 2)
    assert found == {("glyphs", "convnet", 8, "recall_at_1"): pytest.approx(expected)}
    assert noise_of_seeds([scores(0.5)]) == {}

"""The trained toy of table 4.1: its settings are those printed, all start alike, and they learn."""

import csv
from pathlib import Path

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.experiments import build_experiment
from sklearn.neighbors import NearestNeighbors

PRINTED = Path(__file__).parents[2] / "config" / "reference" / "karaman2021" / "table_4_01.csv"
SMALL = {"samples": 16, "margins": [0.1], "m1": [-2.25], "m2": [5]}


def test_the_settings_are_the_printed_ones():
    with PRINTED.open() as file:
        printed = {
            (row["method"], row["variant"].replace(";", ",")) for row in csv.DictReader(file)
        }
    table = build_experiment("distance_sensitive_toy", samples=8, iterations=1).run(0).table
    ours = set(zip(table.method, table.variant, strict=True))
    assert ours | {("input_space", "")} == printed
    assert set(table.role) == {"train"}


def test_all_settings_start_from_the_same_network():
    options = SMALL | {"learning_rate": 1e-12, "iterations": 1}
    arrays = build_experiment("distance_sensitive_toy", **options).run(0).arrays
    start = arrays["initial_features"]
    assert start.shape == (12 * 16, 4)
    for name in ("ranking m=0.1", "distance_sensitive s=1,r=2,rho=1,m_1=-2.25,m_2=5"):
        np.testing.assert_allclose(arrays[name], start, atol=1e-6)


def violated(space, labels):
    """Share of triplets whose negative is less than 0.1 farther than their positive."""
    d = np.linalg.norm(space[:, None] - space, axis=2)
    same = labels[:, None] == labels
    np.fill_diagonal(d, np.inf)
    shares = [
        (d[i, same[i] & (d[i] < np.inf)][:, None] + 0.1 > d[i, ~same[i]]).mean()
        for i in range(len(labels))
    ]
    return np.mean(shares)


def test_ranking_learns_to_rank_and_scores_are_of_its_space():
    options = SMALL | {"learning_rate": 0.01, "iterations": 150}
    outcome = build_experiment("distance_sensitive_toy", **options).run(0)
    labels, trained = outcome.arrays["labels"], outcome.arrays["ranking m=0.1"]
    start = outcome.arrays["initial_features"]
    assert violated(trained, labels) < 0.7 * violated(start, labels)
    nearest = NearestNeighbors(n_neighbors=1).fit(trained).kneighbors(return_distance=False)
    table = outcome.table.set_index(["method", "metric"]).value
    expected = (labels[nearest[:, 0]] == labels).mean()
    assert table["ranking", "recall_at_1"] == pytest.approx(expected)


def test_normalized_embeddings_have_length_one():
    options = SMALL | {"normalize": True, "iterations": 2, "embedding_dim": 5}
    arrays = build_experiment("distance_sensitive_toy", **options).run(0).arrays
    np.testing.assert_allclose(np.linalg.norm(arrays["ranking m=0.1"], axis=1), 1, rtol=1e-5)


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(UserError, match="allowed: 'adam', 'rmsprop' or 'sgd'"):
        build_experiment("distance_sensitive_toy", optimizer="lion")

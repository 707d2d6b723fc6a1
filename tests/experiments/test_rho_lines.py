"""The lines of roth2020's appendix G: their geometry, and that only the regularizer differs."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.experiments import build_experiment
from sklearn.neighbors import NearestNeighbors


def run(seed=0, **options):
    return build_experiment("rho_lines", **({"iterations": 20} | options)).run(seed)


def gaps(values, labels):
    """Room between the ranges of neighboring classes along one coordinate."""
    low = np.array([values[labels == c].min() for c in range(4)])
    high = np.array([values[labels == c].max() for c in range(4)])
    order = low.argsort()
    return low[order][1:] - high[order][:-1]


def test_vertical_lines_differ_by_x_in_training_and_by_y_in_the_test():
    arrays = run(lines="vertical").arrays
    labels = arrays["labels"]
    assert np.bincount(labels).tolist() == [15] * 4
    train, test = arrays["input_train"], arrays["input_test"]
    assert (gaps(train[:, 0], labels) > 0).all()
    assert (gaps(train[:, 1], labels) < 0).all()
    assert (gaps(test[:, 1], labels) > 0).all()
    assert np.ptp(test[:, 0]) == 0


def test_diagonals_train_and_straight_lines_test():
    arrays = run(lines="diagonal").arrays
    for role, slopes in (("train", {2.0}), ("test", {0.0, np.inf})):
        found = set()
        for some in arrays[f"input_{role}"].reshape(4, 15, 2):
            dx, dy = np.ptp(some, axis=0)
            found.add(np.inf if dx == 0 else round(float(dy / dx), 3))
        assert found == slopes


def test_embeddings_are_on_the_circle_and_scored_by_their_neighbors():
    outcome = run()
    labels, embeddings = outcome.arrays["labels"], outcome.arrays["plain_test"].astype(float)
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)
    nearest = NearestNeighbors(n_neighbors=2).fit(embeddings).kneighbors(return_distance=False)
    expected = (labels[nearest[:, 0]] == labels).mean()
    table = outcome.table
    row = table[(table.role == "test") & (table.variant == "") & (table.metric == "recall_at_1")]
    assert row.value.item() == pytest.approx(expected)


def test_without_switches_regularized_is_plain():
    arrays = run(p_switch=[0.0, 0.5], iterations=40).arrays
    np.testing.assert_array_equal(arrays["p_switch=0_test"], arrays["plain_test"])
    assert not np.allclose(arrays["p_switch=0.5_test"], arrays["plain_test"], atol=1e-3)


def test_a_sweep_changes_neither_the_plain_network_nor_the_others():
    one, several = run(p_switch=0.3).arrays, run(p_switch=[0.1, 0.3]).arrays
    for name, array in one.items():
        np.testing.assert_array_equal(array, several[name])


def test_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    run(iterations=2)
    torch.testing.assert_close(torch.rand(3), expected)


def test_the_network_learns_the_training_lines():
    table = run(iterations=200).table
    found = table[(table.role == "train") & (table.metric == "recall_at_1")]
    assert (found.value > 0.99).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lines": "horizontal"}, "lines is 'horizontal'; allowed: 'diagonal' or 'vertical'"),
        ({"optimizer": "lion"}, "allowed: 'adam' or 'sgd'"),
        ({"regularizer": "embedding_l2"}, "allowed: 'rho' or 'rho_anchor'"),
        ({"p_switch": 1.5}, "p_switch is 1.5; allowed: less than or equal to 1"),
    ],
)
def test_bad_options_are_one_line(options, message):
    with pytest.raises(UserError, match=message):
        build_experiment("rho_lines", **options)

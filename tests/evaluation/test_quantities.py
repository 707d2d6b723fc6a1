"""Units and directions of metrics, against their values on embeddings that are good and bad."""

import numpy as np
import pytest
from dmlbench.evaluation import score
from dmlbench.evaluation.names import metric_names, quantity

PLAIN = {"pi_inter", "pi_intra", "pi_ratio", "rho"}
PLAIN |= {f"{name}_euclidean" for name in PLAIN - {"rho"}}
NAMES = [name.replace("<k>", "2") for name in metric_names()]


@pytest.fixture(scope="module")
def values():
    """Each metric of classes that are far apart, and of points without classes."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 30)
    centers = np.eye(6)[labels]
    apart = centers + 0.01 * rng.normal(size=centers.shape)
    return [
        score(points, labels, metrics=NAMES, seeds=(0,))
        for points in (apart, rng.normal(size=centers.shape))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_percent_is_of_shares_and_the_better_embedding_has_the_better_value(name, values):
    good, bad = (each[name] for each in values)
    unit, better = quantity(name).percent, quantity(name).better
    assert unit == (name not in PLAIN)
    assert better == ("higher" if unit else "")
    if unit:
        assert 0 <= bad <= good <= 1


def test_values_of_plain_metrics_are_no_shares(values):
    assert max(values[1][name] for name in PLAIN) > 1


def test_k_does_not_change_what_a_metric_is():
    assert quantity("recall_at_1000") == quantity("recall_at_1") == quantity("nmi")


def test_a_metric_of_an_experiment_is_a_plain_number_unless_listed():
    assert quantity("largest_difference") == quantity("rho")
    assert (quantity("rho").factor, quantity("rho").unit) == (1, "")
    listed = quantity("violated_constraints")
    assert (listed.factor, listed.unit, listed.better) == (100, "%", "lower")

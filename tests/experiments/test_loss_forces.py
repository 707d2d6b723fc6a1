"""Forces of the library's triplet losses: against the loss's slope, and known properties."""

import math

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.experiments import build_experiment
from dmlbench.experiments.loss_forces import triplet_losses
from dmlbench.losses import build_loss
from dmlbench.tuples import Triplets

NAMES = triplet_losses()
KARAMAN = {"ranking", "facenet", "ratio", "moving", "entangle", "distance_sensitive"}


@pytest.fixture(scope="module")
def outcome():
    return build_experiment("loss_forces", grid=9).run(0)


def test_every_loss_that_takes_triplets_is_there(outcome):
    assert set(outcome.table.method) == set(NAMES) >= KARAMAN
    assert "contrastive" not in NAMES


def value(loss, points):
    """The loss of one triplet: rows of points are anchor, positive, negative."""
    negative = torch.zeros(3, 3, dtype=torch.int64)
    valid = torch.zeros(3, 3, dtype=torch.bool)
    negative[0, 1], valid[0, 1] = 2, True
    labels = torch.tensor([0, 0, 1])
    return float(loss(torch.from_numpy(points), labels, Triplets(negative=negative, valid=valid)))


@pytest.mark.parametrize("name", NAMES)
def test_lengths_are_those_of_the_slope(outcome, name):
    loss = build_loss(name, num_classes=2, embedding_dim=2)
    arrows = outcome.arrays[f"arrows_forces_{name}"]
    places, steps = arrows[:, 0], arrows[:, 1]
    slope = np.zeros((3, 2))
    for index in np.ndindex(3, 2):
        moved = np.zeros((3, 2))
        moved[index] = 1e-5
        slope[index] = (value(loss, places + moved) - value(loss, places - moved)) / 2e-5
    found = outcome.table.set_index(["method", "variant", "metric"]).value
    lengths = [found[name, f"point={role}", "force"] for role in ("anchor", "positive", "negative")]
    np.testing.assert_allclose(lengths, np.linalg.norm(slope, axis=1), rtol=1e-4, atol=1e-6)
    longest = max(np.linalg.norm(steps, axis=1))
    assert longest == pytest.approx(1 if max(lengths) > 0 else 0)
    np.testing.assert_allclose(steps * max(lengths), -slope, rtol=1e-4, atol=1e-5)


def test_the_ranking_loss_keeps_what_is_nearer_than_the_positive(outcome):
    places = np.linspace(-2, 2, 9)
    x, y = np.meshgrid(places, places)
    radius = 2 * math.sin(0.5) + 0.01
    kept = np.hypot(x - 1, y) < radius
    # If a negative is at its anchor, the distance has no slope, but the positive is pulled.
    np.testing.assert_array_equal(outcome.arrays["region_forces_ranking"], kept)
    share = outcome.table.set_index(["method", "metric"]).value["ranking", "kept"]
    assert set(share) == {kept.mean()}


def test_options_are_the_losses_own():
    wide = build_experiment(
        "loss_forces", losses=["ranking"], options={"ranking": {"margin": 40}}, grid=5
    ).run(0)
    assert wide.arrays["region_forces_ranking"].all()
    with pytest.raises(UserError, match=r"losses is \['contrastive'\]; allowed: .*triplet"):
        build_experiment("loss_forces", losses=["contrastive"])

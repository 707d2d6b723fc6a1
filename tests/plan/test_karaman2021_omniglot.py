"""The settings of karaman2021_omniglot: nothing is clamped without the miner, and shared runs."""

import numpy as np
import pytest
import torch
from dmlbench.losses import build_loss, forces
from dmlbench.plan.specs.searches import trial_specs
from project import every_study

STUDY = "karaman2021_omniglot"


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def losses(loaded):
    """(method, variant) -> its loss, of seed 0."""
    return {
        (row.method, row.variant): loaded.spec(row).loss
        for row in loaded.rows(STUDY)
        if row.seed == 0 and row.variant in ("without_miner", "with_miner")
    }


def built(choice):
    return build_loss(choice.name, num_classes=2, embedding_dim=2, **choice.hyperparameters)


def on_circle(angles):
    return torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def kept(choice, positive, negatives):
    """Whether each negative gives a force; the anchor is at angle 0."""
    n = on_circle(negatives)
    a, p = (on_circle(np.full(len(n), angle)) for angle in (0.0, positive))
    moved = torch.cat(forces(built(choice), a, p, n), dim=1).abs() > 1e-12
    return moved.any(1).numpy()


def test_without_the_miner_every_negative_has_a_force(losses):
    negatives = np.linspace(0.11, 2 * np.pi, 50, endpoint=False)
    for (method, variant), choice in losses.items():
        if variant == "without_miner":
            assert kept(choice, 0.5, negatives).all(), method


def test_with_the_miner_far_negatives_have_none(losses):
    for method in ("ranking", "facenet", "ratio", "angular_triplet", "moving"):
        near, far = kept(losses[method, "with_miner"], 0.5, np.array([0.4, 3.0]))
        assert (near, far) == (True, False), method
    (far,) = kept(losses["distance_sensitive", "with_miner"], 0.5, np.array([3.0]))
    assert not far


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("entangle", lambda ap, an, pn: (ap**2 - an**2 - pn**2) / 2),
        ("modified_entangle", lambda ap, an, pn: ap - 0.5 * (an + pn)),
    ],
)
def test_the_least_margin_keeps_what_the_ranking_loss_keeps(losses, method, value):
    """Appendix B in the plane at d_ap = 0.5: both circles of radius 0.6."""
    angle = np.linspace(0, 2 * np.pi, 10_001)
    circle = 0.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    pn = np.hypot(circle[:, 0] - 0.5, circle[:, 1])
    least = -value(0.5, 0.6, pn).min()
    margin = losses[method, "with_miner"].hyperparameters["margin"]
    assert margin == pytest.approx(least)


def test_a_loss_without_a_hinge_is_trained_once(loaded):
    for method in ("original_triplet", "n_pair_triplet"):
        rows = [
            row for row in loaded.rows(STUDY) if row.method == method and "," not in row.variant
        ]
        assert (len(rows), len({loaded.run(row).folder for row in rows})) == (6, 3)


def test_every_loss_is_searched_with_the_same_budget_where_it_differs(loaded):
    """Without the miner all eleven losses, with it those that have a hinge; three seeds each."""
    tuned = [row for row in loaded.rows(STUDY) if "tuned" in row.variant]
    found = {(row.method, row.variant): loaded.search_of(row) for row in tuned}
    assert len(set(found.values())) == len(found) == 11 + 9
    searches = [loaded.searches[name] for name in found.values()]
    assert {(search.budget, search.run.fold) for search in searches} == {(8, 0)}
    assert len({loaded.run(row).folder for row in tuned}) == 3 * 20
    assert len(loaded.runs(STUDY)) == 63 + 60


def test_a_search_keeps_the_force_or_the_hinge_of_what_it_tunes(loaded):
    """What a search does not change is as in the trainings that take its best values."""
    for row in loaded.rows(STUDY):
        if "tuned" in row.variant and row.seed == 0:
            name = loaded.search_of(row)
            trial = trial_specs(loaded, name)[0].as_dict()["loss"]
            tuned = loaded.spec(row).as_dict()["loss"]
            searched = {place.removeprefix("loss.") for place in loaded.searches[name].parameters}
            assert {**trial, **dict.fromkeys(searched)} == {**tuned, **dict.fromkeys(searched)}, (
                name
            )

"""The feasible toy of can2019: its solution, proposition 4.1, and how violations are counted."""

import math

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.experiments import build_experiment
from dmlbench.experiments.projection_toy import FAR, NEAR, violated_constraints
from dmlbench.losses import build_loss

SMALL = {"classes": 6, "samples": 5, "nuisance": 3, "batch_size": 6, "projections": 3}


def pairs_by_loop(embeddings, labels):
    """(distance, same class) of every unordered pair."""
    for i in range(len(labels)):
        for j in range(i):
            yield math.dist(embeddings[i], embeddings[j]), labels[i] == labels[j]


@pytest.mark.parametrize("seed", range(4))
def test_the_solution_violates_nothing(seed):
    points, labels, solution = build_experiment("projection_toy", **SMALL).problem(seed)
    embeddings = (points.double() @ solution.double()).tolist()
    for distance, same in pairs_by_loop(embeddings, labels.tolist()):
        assert distance < NEAR if same else distance > FAR


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "margin",
            {"margin": (FAR - NEAR) / 2, "beta": (FAR + NEAR) / 2, "learned": False},
        ),
        ("facenet", {"margin": FAR**2 - NEAR**2}),
        ("contrastive_euclidean", {"margin": FAR, "positive_margin": NEAR}),
    ],
)
def test_a_feasible_point_minimizes_the_losses(name, options):
    """Proposition 4.1 with the matching thresholds; a point that is not feasible has a loss."""
    points, labels, solution = build_experiment("projection_toy", **SMALL).problem(0)
    loss = build_loss(name, num_classes=6, embedding_dim=2, **options)
    assert loss(points @ solution, labels).item() == 0
    assert loss(points @ solution.flip(0), labels).item() > 0


def test_violations_are_counted_pair_by_pair():
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.rand(40, 2, generator=generator)
    labels = torch.arange(40) % 7
    pairs = list(pairs_by_loop(embeddings.tolist(), labels.tolist()))
    far = sum(same and distance > NEAR for distance, same in pairs)
    near = sum(not same and distance < FAR for distance, same in pairs)
    assert violated_constraints(embeddings, labels) == (far, near)
    assert far > 0 < near


def test_all_ways_begin_alike_and_learn():
    outcome = build_experiment("projection_toy", **SMALL | {"projections": 10}).run(0)
    table = outcome.table.set_index(["method", "variant"]).value
    starts = [table[way, "projection=0"] for way in ("plain", "anchored", "profs")]
    assert len(set(starts)) == 1
    for way in ("plain", "anchored", "profs"):
        assert table[way, "projection=10"] < 0.7 * starts[0]
        counted = outcome.arrays[f"violated_{way}"].sum(axis=1) / (30 * 29 / 2)
        np.testing.assert_allclose(table[way].to_numpy(), counted)


def test_the_proximity_term_reaches_profs_alone():
    free, held = (
        build_experiment("projection_toy", **SMALL, proximity=weight).run(0).arrays
        for weight in (0.0, 1e4)
    )
    for way in ("plain", "anchored"):
        np.testing.assert_array_equal(free[f"violated_{way}"], held[f"violated_{way}"])
    assert held["violated_profs"][-1].sum() > free["violated_profs"][-1].sum()


def test_a_batch_that_does_not_fit_is_refused():
    with pytest.raises(UserError, match="a multiple of images_per_class=2, at most 12"):
        build_experiment("projection_toy", **SMALL | {"batch_size": 14})

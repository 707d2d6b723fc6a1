"""PROFS in a training: tuples around representatives, projections, hard negative class mining."""

import itertools
import math
import os
import signal

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import available, build_loss
from dmlbench.miners import build_miner
from dmlbench.samplers import Batch
from dmlbench.training.objective import Objective
from dmlbench.training.representatives import EACH_ITERATION, FROM_BOTH_SIDES, restriction
from dmlbench.training.trainer import Trainer
from dmlbench.tuples import Pairs
from torch import nn
from toy_training import equal, history, run_epoch, train, trainer

METHODS = {
    "contrastive_squared": "hard_pairs",
    "facenet": "semi_hard",
    "margin": "hard_pairs",
    "n_pair": None,
    "n_pair_one_per_class": None,
    "angular": None,
    "lifted_structure": None,
    "multi_similarity": "multi_similarity",
    "soft_triple": None,
}


def projecting(sampler):
    return {"name": sampler, "images_per_class": 4, "iterations_per_projection": 4}


def profs(name, sampler="profs", **changes):
    """A method of can2019 on batches of 5 classes x 4 images, two epochs of 6 iterations.

    A projection has four iterations, so one of them continues over the end of an epoch. The sampler
    may be given by its name or as in a spec.
    """
    miner = METHODS[name]
    return {
        "loss": {"name": name},
        "miner": miner and {"name": miner},
        "regularizers": [{"name": "proximity", "weight": 10.0}],
        "sampler": sampler if isinstance(sampler, dict) else projecting(sampler),
        "iterations_per_epoch": 6,
        "epochs": 2,
        **changes,
    }


def test_every_loss_of_the_paper_trains_with_and_without_class_mining(toy_data):
    for loss, sampler in itertools.product(METHODS, ("profs", "profs_hncm")):
        running = trainer(toy_data, profs(loss, sampler))
        before = running.network.head.weight.detach().clone()
        run_epoch(running)
        assert np.isfinite(running.history[0]["loss"])
        assert not torch.equal(before, running.network.head.weight)


@pytest.mark.parametrize("loss", ["margin", "multi_similarity", "soft_triple"])
@pytest.mark.parametrize("sampler", ["profs", "profs_hncm"])
def test_interrupted_it_ends_with_the_same_weights(tmp_path, toy_data, monkeypatch, loss, sampler):
    changes = profs(loss, sampler)
    undisturbed = train(tmp_path / "undisturbed", toy_data, changes)
    step = Trainer._step
    for count in (3, 9):

        def signalling(self, *batch, count=count):
            if self.done == count:
                os.kill(os.getpid(), signal.SIGTERM)
            return step(self, *batch)

        monkeypatch.setattr(Trainer, "_step", signalling)
        with pytest.raises(UserError, match="interrupted at epoch"):
            train(tmp_path / "stopped", toy_data, changes)
    monkeypatch.undo()
    assert equal(train(tmp_path / "stopped", toy_data, changes), undisturbed)
    assert history(tmp_path / "stopped") == history(tmp_path / "undisturbed")


class Seen(nn.Module):
    """A loss that keeps what it is given."""

    def forward(self, embeddings, labels, *tuples):
        self.embeddings, self.labels, self.tuples = embeddings, labels.tolist(), tuples
        return embeddings.sum()


def given(loss, miner=None, seed=0):
    """The input of a loss from a batch of three classes with three examples each."""
    torch.manual_seed(seed)
    seen = Seen()
    objective = Objective(
        nn.Identity(), seen, miner=miner, restrict=restriction(loss, miner is not None)
    )
    batch = Batch(np.arange(9), representatives=np.array([0, 3, 6]), projection=0)
    points = torch.randn(9, 2, dtype=torch.float64)
    objective(batch, points, torch.arange(9) // 3)
    return seen


def entries(mask):
    return set(map(tuple, mask.nonzero().tolist()))


REPRESENTATIVES = (0, 3, 6)


@pytest.mark.parametrize("seed", range(20))
def test_each_representative_has_as_many_hard_negatives_as_positives(seed):
    seen = given("margin", build_miner("hard_pairs"), seed)
    x, y = seen.embeddings.tolist(), seen.labels
    positive, negative = set(), set()
    for i in REPRESENTATIVES:
        positive |= {(i, j) for j in range(9) if j != i and y[j] == y[i]}
        far = sorted(
            ((x[i][0] - x[j][0]) ** 2 + (x[i][1] - x[j][1]) ** 2, j)
            for j in range(9)
            if y[j] != y[i]
        )
        negative |= {(i, j) for _, j in far[:2]}
    (pairs,) = seen.tuples
    assert (entries(pairs.positive), entries(pairs.negative)) == (positive, negative)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("positives", ["all", "hardest"])
def test_hard_triplets_have_a_representative_as_anchor(seed, positives):
    seen = given("facenet", build_miner("hard", positives=positives), seed)
    x, y = seen.embeddings.tolist(), seen.labels
    far = [[(a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for b in x] for a in x]
    expected = set()
    for i in REPRESENTATIVES:
        same = [j for j in range(9) if j != i and y[j] == y[i]]
        nearest = min((j for j in range(9) if y[j] != y[i]), key=lambda j, i=i: far[i][j])
        chosen = same if positives == "all" else [max(same, key=lambda j, i=i: far[i][j])]
        expected |= {(i, j, nearest) for j in chosen}
    (triplets,) = seen.tuples
    found = {(i, j, triplets.negative[i, j].item()) for i, j in entries(triplets.valid)}
    assert found == expected


@pytest.mark.parametrize(
    ("loss", "from_both_sides"),
    [
        ("contrastive", False),
        ("n_pair", False),
        ("angular", False),
        ("lifted_structure", True),
        ("multi_similarity", True),
    ],
)
def test_terms_of_two_that_are_no_representatives_are_dropped(loss, from_both_sides):
    seen = given(loss)
    kept = [
        (i, j)
        for i, j in itertools.permutations(range(9), 2)
        if i in REPRESENTATIVES or (from_both_sides and j in REPRESENTATIVES)
    ]
    (pairs,) = seen.tuples
    assert isinstance(pairs, Pairs)
    same = {(i, j) for i, j in kept if seen.labels[i] == seen.labels[j]}
    assert entries(pairs.positive) == same
    assert entries(pairs.negative) == set(kept) - same


def value(name, points, miner=None, **options):
    """A loss of three classes with three examples each, the first of each a representative."""
    loss = build_loss(name, num_classes=3, embedding_dim=2, **options)
    restrict = restriction(name, miner is not None)
    objective = Objective(nn.Identity(), loss, miner=miner, restrict=restrict)
    batch = Batch(np.arange(9), representatives=np.array(REPRESENTATIVES), projection=0)
    found, _ = objective(batch, points, torch.arange(9) // 3)
    return found.item()


def points(seed, length=None):
    x = torch.randn(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return x if length is None else length * x / x.norm(dim=1, keepdim=True)


def compared(i, same):
    """The examples that i is compared with: of its class, or of the others."""
    others = (j for j in range(9) if j != i and (i // 3 == j // 3) == same)
    return [j for j in others if i in REPRESENTATIVES or j in REPRESENTATIVES]


@pytest.mark.parametrize("seed", range(5))
def test_lifted_structure_by_its_equation_without_pairs_of_two_others(seed):
    x = points(seed)
    d = [[math.dist(a, b) for b in x.tolist()] for a in x.tolist()]
    terms = []
    for i in range(9):
        for j in compared(i, same=True):
            near = sum(math.exp(1 - d[i][k]) for k in compared(i, same=False))
            near += sum(math.exp(1 - d[j][k]) for k in compared(j, same=False))
            terms.append(max(0, math.log(near) + d[i][j]) ** 2 / 2)
    found = value("lifted_structure_euclidean", x, margin=1)
    assert found == pytest.approx(sum(terms) / len(terms), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_multi_similarity_by_its_equation_without_pairs_of_two_others(seed):
    x = points(seed, length=1)
    S = [[sum(p * q for p, q in zip(a, b, strict=True)) for b in x.tolist()] for a in x.tolist()]
    total = 0.0
    for i in range(9):
        pull = sum(math.exp(-2 * (S[i][j] - 1)) for j in compared(i, same=True))
        push = sum(math.exp(50 * (S[i][k] - 1)) for k in compared(i, same=False))
        total += math.log(1 + pull) / 2 + math.log(1 + push) / 50
    found = value("multi_similarity", x, alpha=2, beta=50, margin=1)
    assert found == pytest.approx(total / 9, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_anchors_of_n_pair_are_the_representatives(seed):
    x = points(seed).tolist()
    dot = [[sum(p * q for p, q in zip(a, b, strict=True)) for b in x] for a in x]
    terms = [
        math.log(1 + sum(math.exp(dot[a][n + 1] - dot[a][a + 1]) for n in {*REPRESENTATIVES} - {a}))
        for a in REPRESENTATIVES
    ]
    found = value("n_pair_one_per_class", points(seed), l2=0)
    assert found == pytest.approx(sum(terms) / 3, rel=1e-6)


def test_losses_that_are_treated_apart_are_losses():
    assert {*FROM_BOTH_SIDES, *EACH_ITERATION} <= set(available())


@pytest.mark.parametrize("loss", ["soft_triple", "n_pair_one_per_class", "proxy_anchor"])
def test_a_loss_without_tuples_sees_the_batch_as_it_is(loss):
    assert given(loss).tuples == ()


def test_a_loss_over_all_triplets_needs_a_miner(toy_data):
    with pytest.raises(
        UserError, match=r"loss triplet: over all triplets .* allowed: with a miner"
    ):
        trainer(toy_data, profs("margin", loss={"name": "triplet"}, miner=None))


def test_mixed_images_are_no_representatives(toy_data):
    changes = profs("margin", regularizers=[{"name": "manifold_mixup"}])
    with pytest.raises(UserError, match="sampler profs: manifold_mixup leaves no image"):
        trainer(toy_data, changes)


def watched(toy_data, monkeypatch, changes):
    """A trainer after two epochs; the projections of its steps, and the weights before each."""
    step, projections, weights = Trainer._step, [], []

    def noting(self, batch, inputs, labels):
        projections.append(batch.projection)
        weights.append([parameter.detach().clone() for parameter in self.network.parameters()])
        return step(self, batch, inputs, labels)

    monkeypatch.setattr(Trainer, "_step", noting)
    running = trainer(toy_data, changes)
    run_epoch(running)
    run_epoch(running)
    return running, projections, weights


def same(some, others):
    return all(itertools.starmap(torch.equal, zip(some, others, strict=True)))


@pytest.mark.parametrize("sampler", ["profs", "profs_hncm"])
def test_the_proximal_reference_is_where_the_last_projection_began(toy_data, monkeypatch, sampler):
    running, projections, weights = watched(toy_data, monkeypatch, profs("margin", sampler))
    assert projections == [0] * 4 + [1] * 4 + [2] * 4
    reference = running.objective.regularizers["proximity"].snapshots
    assert [same(reference, before) for before in weights].index(True) == 8


RANDOM = {"name": "random"}


@pytest.mark.parametrize("sampler", [RANDOM, profs("soft_triple")["sampler"]])
def test_with_soft_triple_each_iteration_stays_near_the_one_before(toy_data, monkeypatch, sampler):
    running, _, weights = watched(toy_data, monkeypatch, profs("soft_triple", sampler=sampler))
    proximity = running.objective.regularizers["proximity"]
    assert same(proximity.snapshots, weights[-1])
    # What the next iteration adds to its loss: the last step's length.
    gone = sum(
        float((now.detach() - then).double().square().sum())
        for now, then in zip(running.network.parameters(), weights[-1], strict=True)
    )
    assert gone > 0
    penalty = proximity(running.network.parameters()).item()
    assert penalty == pytest.approx(10.0 / 2 * gone, rel=1e-4)


def test_without_projections_the_proximal_reference_is_where_the_epoch_began(toy_data, monkeypatch):
    plain = profs("margin") | {"sampler": {"name": "class_balanced", "images_per_class": 4}}
    running, projections, weights = watched(toy_data, monkeypatch, plain)
    assert set(projections) == {None}
    assert same(running.objective.regularizers["proximity"].snapshots, weights[6])


def test_class_mining_remembers_representatives_or_the_centers_of_soft_triple(toy_data):
    running = trainer(toy_data, profs("margin", "profs_hncm"))
    run_epoch(running)
    assert running.batches.sampler.memory.embeddings.shape == (10, 8)

    running = trainer(toy_data, profs("soft_triple", "profs_hncm", epochs=1))
    iterations = running.train_epoch()
    next(iterations)
    before = running.objective.loss.centers.detach().clone()
    next(iterations)
    memory = running.batches.sampler.memory
    assert memory.known.all()
    for label, found in enumerate(memory.embeddings):
        units = [center / center.norm() for center in before[:, label]]
        np.testing.assert_allclose(found, sum(units) / len(units), atol=1e-6)

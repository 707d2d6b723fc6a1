"""Points train like images: the trainer needs parts, not specs, data sets or pixels."""

import os
import signal

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.plan.catalogs.recipes import Optimizer
from dmlbench.regularizers import build_regularizer
from dmlbench.samplers import build_sampler
from dmlbench.training.batches import Batches
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.interruption import Interruption
from dmlbench.training.loop import run
from dmlbench.training.objective import Objective
from dmlbench.training.optimization import build_optimizer
from dmlbench.training.seeds import seed_everything
from dmlbench.training.selection import Selection
from dmlbench.training.trainer import Settings, Trainer
from torch import nn
from toy_training import equal

CLASSES, EACH = 6, 10


def points():
    """Classes on rays from the origin: the distance of two points says little of their class."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(CLASSES), EACH)
    rays = rng.normal(size=(CLASSES, 3))
    values = rays[labels] * rng.uniform(0.5, 3, (len(labels), 1)) + rng.normal(
        scale=0.05, size=(len(labels), 3)
    )
    return torch.from_numpy(values.astype(np.float32)), labels


class TensorInputs:
    """Rows of a tensor as they are."""

    def __init__(self, values):
        self.values, self.ids = values, np.arange(len(values))

    def batches(self, rows, generator, ahead):
        for batch in rows:
            yield self.values[torch.from_numpy(batch)]


def mlp_trainer(epochs=3, sampler="spc", regularizers=(), is_watched=True):
    """A multilayer perceptron on points, with a triplet loss, at its beginning."""
    values, labels = points()
    seed_everything(0, "initial weights")
    network = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))
    loss = build_loss("facenet", num_classes=CLASSES, embedding_dim=2, margin=0.5)
    objective = Objective(
        network,
        loss,
        miner=build_miner("random", positives="all"),
        regularizers={name: build_regularizer(name) for name in regularizers},
    )
    batches = Batches(
        build_sampler(sampler, labels, batch_size=12),
        TensorInputs(values),
        labels,
        torch.device("cpu"),
        per_epoch=8,
    )

    def watch(epoch):
        network.eval()
        with torch.no_grad():
            far = torch.cdist(network(values), network(values)).fill_diagonal_(torch.inf)
        return {"nearest_is_of_the_class": (labels[far.argmin(1)] == labels).mean().item()}

    return Trainer(
        network,
        objective,
        batches,
        build_optimizer(Optimizer(name="adam", learning_rate=1), [(network, 0.01), (loss, 0.01)]),
        Settings(epochs=epochs, seed=0),
        watch if is_watched else None,
        Selection("best_test_epoch", None),
    )


def train(trainer, folder):
    """Train with the files of a run, to the end; returns the last weights."""
    with Interruption() as interruption:
        run(trainer, Checkpoint(folder, "points"), interruption)
    return trainer.network.state_dict()


@pytest.mark.parametrize("count", [1, 8, 13])
@pytest.mark.parametrize(
    ("sampler", "regularizers"), [("spc", ()), ("profs_hncm", ("proximity",)), ("random", ())]
)
def test_killed_within_an_epoch_a_network_on_points_ends_with_the_same_weights(
    tmp_path, monkeypatch, count, sampler, regularizers
):
    undisturbed = mlp_trainer(sampler=sampler, regularizers=regularizers)
    expected = train(undisturbed, tmp_path / "undisturbed")

    step, done = Trainer._step, iter(range(1, 1000))

    def signalling(self, *batch):
        loss = step(self, *batch)
        if next(done) == count:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss

    monkeypatch.setattr(Trainer, "_step", signalling)
    with pytest.raises(UserError, match=f"^interrupted at epoch {1 + (count - 1) // 8}, iteration"):
        train(mlp_trainer(sampler=sampler, regularizers=regularizers), tmp_path / "stopped")
    resumed = mlp_trainer(sampler=sampler, regularizers=regularizers)
    assert equal(train(resumed, tmp_path / "stopped"), expected)
    assert resumed.history == undisturbed.history
    assert equal(resumed.selection.weights, undisturbed.selection.weights)


def test_a_network_learns_the_classes_of_points(tmp_path):
    trainer = mlp_trainer(epochs=25)
    train(trainer, tmp_path)
    scores = [row["nearest_is_of_the_class"] for row in trainer.history]
    assert scores[-1] > scores[0] + 0.1
    assert trainer.selection.score == max(scores)


def test_without_a_watch_nothing_is_scored_and_the_weights_are_the_same(tmp_path):
    watched = train(mlp_trainer(), tmp_path / "watched")
    trainer = mlp_trainer(is_watched=False)
    assert equal(train(trainer, tmp_path / "unwatched"), watched)
    assert set(trainer.history[0]) == {"epoch", "learning_rate", "loss", "zero_losses"}
    assert trainer.selection.weights == {}

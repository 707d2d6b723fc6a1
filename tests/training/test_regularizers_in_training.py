"""Regularizers of a method act on the training, and stop and continue with it."""

import os
import signal

import numpy as np
import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.catalogs.recipes import Method
from dmlbench.plan.specs.spec import Spec
from dmlbench.regularizers import available
from dmlbench.training import loop
from pydantic import ValidationError
from toy_training import VALUES, equal, run_epoch, train, trainer

MINED = {"loss": {"name": "triplet", "margin": 0.1}, "miner": {"name": "semi_hard"}}
REGULARIZERS = {
    "embedding_l2": {"weight": 0.1},
    "manifold_mixup": {"alpha": 2.0},
    "proximity": {"weight": 10.0},
    "rho": {"p_switch": 0.5},
    "rho_anchor": {"p_switch": 0.5},
}


def mined(name, **changes):
    part = {"name": name, **REGULARIZERS[name], **changes}
    return MINED | {"regularizers": [part], "iterations_per_epoch": 6, "epochs": 2}


def weights(data, changes):
    running = trainer(data, changes)
    run_epoch(running)
    assert np.isfinite(running.history[0]["loss"])
    return running.network.state_dict()


def test_all_regularizers_are_tried_here():
    assert set(REGULARIZERS) == set(available())


@pytest.mark.parametrize("name", REGULARIZERS)
def test_a_method_trains_otherwise_with_it(toy_data, name):
    plain = weights(toy_data, MINED | {"iterations_per_epoch": 6})
    unnormalized = {"normalize": False} if name == "embedding_l2" else {}
    assert not equal(plain, weights(toy_data, mined(name) | unnormalized))


@pytest.mark.parametrize(
    ("name", "off"),
    [("embedding_l2", {"weight": 0}), ("proximity", {"weight": 0}), ("rho", {"p_switch": 0})],
)
def test_switched_off_it_changes_no_gradient(toy_data, name, off):
    plain = weights(toy_data, MINED | {"iterations_per_epoch": 1})
    assert equal(plain, weights(toy_data, mined(name, **off) | {"iterations_per_epoch": 1}))


def test_embedding_l2_adds_its_weight_to_the_loss_of_unit_embeddings(toy_data):
    losses = []
    for changes in (MINED | {"iterations_per_epoch": 1}, mined("embedding_l2")):
        running = trainer(toy_data, changes)
        next(running.train_epoch())
        losses.append(running.running.losses.look())
    assert losses[1] - losses[0] == pytest.approx(0.1, abs=1e-6)


def test_proximity_holds_the_weights_where_the_epoch_began(toy_data):
    """After a step the penalty is that of the distance moved, summed by hand."""
    running = trainer(toy_data, mined("proximity"))
    start = [p.detach().clone() for p in running.network.parameters()]
    iterations = running.train_epoch()
    next(iterations)
    gone = sum(
        float(((now.detach() - then) ** 2).sum())
        for now, then in zip(running.network.parameters(), start, strict=True)
    )
    assert gone > 0
    penalty = running.objective.regularizers["proximity"](running.network.parameters())
    assert penalty.item() == pytest.approx(10.0 / 2 * gone, rel=1e-4)


@pytest.mark.parametrize("name", REGULARIZERS)
def test_interrupted_it_ends_with_the_same_weights(tmp_path, toy_data, monkeypatch, name):
    undisturbed = train(tmp_path / "undisturbed", toy_data, mined(name))
    step = loop.Trainer._step

    def signalling(self, *batch):
        if self.done == 8:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, *batch)

    monkeypatch.setattr(loop.Trainer, "_step", signalling)
    with pytest.raises(UserError, match="interrupted at epoch 2, iteration 3"):
        train(tmp_path / "stopped", toy_data, mined(name))
    monkeypatch.undo()
    assert equal(train(tmp_path / "stopped", toy_data, mined(name)), undisturbed)


@pytest.mark.parametrize("name", ["rho", "rho_anchor"])
def test_what_acts_on_tuples_needs_a_miner(name):
    method = {"title": "T", "loss": "contrastive", "regularizers": [name]}
    with pytest.raises(UserError, match=f"regularizer {name} acts on the tuples of a miner"):
        checked(method, Method, where="methods.yaml")


def test_a_regularizer_comes_once():
    method = {"title": "T", "loss": "contrastive", "regularizers": ["embedding_l2"] * 2}
    with pytest.raises(UserError, match="embedding_l2 is listed 2 times; allowed: 1"):
        checked(method, Method, where="methods.yaml")


def test_a_compiled_network_cannot_be_mixed():
    values = merged(VALUES, {"regularizers": [{"name": "manifold_mixup"}], "compile": True})
    with pytest.raises(ValidationError, match="manifold_mixup does not allow compile: true"):
        Spec.model_validate(values)

"""Optimizers and learning rates: steps as torch's own, without loading its compiler."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.catalogs.recipes import Optimizer
from dmlbench.plan.specs.spec import Spec
from dmlbench.training import loop
from dmlbench.training.optimization import build_optimizer
from pydantic import ValidationError
from toy_training import VALUES, outputs, run_epoch, train, trainer

OWN = {
    "adamw": (torch.optim.AdamW, {"betas": (0.9, 0.99), "weight_decay": 0.1}),
    "adam": (torch.optim.Adam, {"betas": (0.8, 0.9), "weight_decay": 0.1}),
    "rmsprop": (torch.optim.RMSprop, {"momentum": 0.9, "weight_decay": 0.1}),
    "sgd": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1}),
}


def stepped(network, optimizer, steps):
    """The network's weights after some steps on the same batches."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        network(torch.randn(5, 3, generator=generator)).square().mean().backward()
        optimizer.step()
    return [tensor.clone() for tensor in network.state_dict().values()]


@pytest.mark.parametrize("name", OWN)
def test_steps_are_those_of_torch(name):
    kind, options = OWN[name]
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 2)
    duplicate = copy.deepcopy(network)
    settings = Optimizer(name=name, learning_rate=1.0, **options)
    ours = stepped(network, build_optimizer(settings, [(network, 0.05)]), 5)
    theirs = stepped(duplicate, kind(duplicate.parameters(), lr=0.05, **options), 5)
    assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("name", OWN)
def test_a_state_that_torch_saved_continues(name):
    kind, options = OWN[name]
    network = torch.nn.Linear(3, 2)
    theirs = kind(network.parameters(), lr=0.05, **options)
    stepped(network, theirs, 2)
    duplicate = copy.deepcopy(network)
    settings = Optimizer(name=name, learning_rate=1.0, **options)
    ours = build_optimizer(settings, [(duplicate, 0.05)])
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    assert all(map(torch.equal, stepped(duplicate, ours, 3), stepped(network, theirs, 3)))


@pytest.mark.slow
def test_a_training_does_not_load_the_compiler(tmp_path, toy_data):
    values = merged(VALUES, {"epochs": 1, "clip_value": 10})
    code = f"""
import sys
from pathlib import PosixPath
from dmlbench.training.loop import train
train({values!r}, **{toy_data.as_arguments()!r}, **{outputs(tmp_path)!r}, device="cpu", threads=1)
assert "torch._dynamo" not in sys.modules
"""
    scripts = Path(loop.__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": str(scripts)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_learning_rates_follow_factors_and_schedule(toy_data):
    changes = {
        "head_factor": 10,
        "loss_factor": 100,
        "schedule": {"step": 2, "gamma": 0.1},
        "optimizer": {"learning_rate": 1e-5},
    }
    running = trainer(toy_data, changes)
    rates = []
    for _ in range(3):
        run_epoch(running)
        rates.append([group["lr"] for group in running.optimizer.param_groups])
    np.testing.assert_allclose(rates[0], [1e-5, 1e-4, 1e-3])
    np.testing.assert_allclose(rates[1], rates[0])
    np.testing.assert_allclose(rates[2], [1e-6, 1e-5, 1e-4])


def test_the_losss_own_learning_rate_takes_the_place_of_its_factor(toy_data):
    changes = {
        "loss_factor": 100,
        "loss_learning_rate": 3e-5,
        "schedule": {"step": 1, "gamma": 0.1},
    }
    running = trainer(toy_data, changes)
    rates = []
    for _ in range(2):
        run_epoch(running)
        rates.append([group["lr"] for group in running.optimizer.param_groups])
    np.testing.assert_allclose(rates, [[1e-2, 1e-2, 3e-5], [1e-3, 1e-3, 3e-6]])


def test_a_loss_without_learning_rate_stays_as_it_was_drawn(toy_data):
    running = trainer(toy_data, {"loss_factor": 0, "optimizer": {"weight_decay": 0.1}})
    before = running.objective.loss.proxies.detach().clone()
    run_epoch(running)
    assert torch.equal(running.objective.loss.proxies, before)


@pytest.mark.parametrize("name", ["adamw", "adam", "rmsprop", "sgd"])
def test_every_optimizer_learns(toy_data, name):
    rate = 0.5 if name == "sgd" else 0.01
    running = trainer(toy_data, {"optimizer": {"name": name, "learning_rate": rate}})
    for _ in range(6):
        run_epoch(running)
    assert running.history[-1]["loss"] < running.history[0]["loss"]


def test_no_weight_moves_further_than_the_clipped_gradient(toy_data):
    """Gradient descent at learning rate 1 moves by the size of the gradient."""
    changes = {"clip_value": 1e-4, "optimizer": {"name": "sgd", "learning_rate": 1.0}}
    running = trainer(toy_data, changes)
    before = [parameter.detach().clone() for parameter in running.parameters]
    next(running.train_epoch())
    moved = torch.cat(
        [
            (after.detach() - start).abs().flatten()
            for after, start in zip(running.parameters, before, strict=True)
        ]
    )
    # Weights are rounded to 2^-24 of their size, of 1 at most.
    assert moved.max() <= 1e-4 + 1e-7
    assert (moved > 1e-4 - 1e-7).float().mean() > 0.1


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd"])
def test_a_fused_optimizer_differs_by_rounding_alone(tmp_path, toy_data, name):
    changes = {"epochs": 1, "optimizer": {"name": name, "learning_rate": 0.003}}
    plain = train(tmp_path / "plain", toy_data, changes)
    fused = train(tmp_path / "fused", toy_data, merged(changes, {"optimizer": {"fused": True}}))
    for key in plain:
        torch.testing.assert_close(fused[key], plain[key], atol=1e-3, rtol=1e-3)
    running = trainer(toy_data, {"optimizer": {"fused": True}})
    assert running.optimizer.defaults["fused"]


def test_rmsprop_cannot_be_fused():
    optimizer = {"name": "rmsprop", "learning_rate": 0.1, "fused": True}
    with pytest.raises(ValidationError, match="rmsprop cannot be fused; allowed: adamw, adam, sgd"):
        Spec.model_validate(VALUES | {"optimizer": optimizer})

"""Optimizers step as torch's own do, without loading its compiler."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from dmlbench.plan.places import merged
from dmlbench.plan.recipes import Optimizer
from dmlbench.training import loop
from dmlbench.training.optimization import build_optimizer
from toy_training import VALUES, outputs

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

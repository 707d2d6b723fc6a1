"""Every method of the catalogue trains."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from toy_training import run_epoch, trainer

REPOSITORY = Path(__file__).resolve().parents[2]
METHODS = yaml.safe_load((REPOSITORY / "config" / "methods.yaml").read_text())


def choice(value):
    return {"name": value} if isinstance(value, str) else value


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "loss" in method])
def test_a_method_of_the_catalogue_moves_the_network(toy_data, name):
    method = METHODS[name]
    parts = {"loss": choice(method["loss"]), "miner": choice(method.get("miner"))}
    running = trainer(toy_data, parts)
    before = running.network.head.weight.detach().clone()
    run_epoch(running)
    assert np.isfinite(running.history[0]["loss"])
    assert not np.array_equal(before.numpy(), running.network.head.weight.detach().numpy())

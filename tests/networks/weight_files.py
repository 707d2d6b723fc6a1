"""Backbones and files of weights for tests."""

import hashlib

import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.networks.weights import load_weights
from dmlbench.plan.catalogs.catalogues import SpecWeights


def backbone(name, **hyperparameters):
    context = {"input_channels": 3}
    return registry.build("networks/backbones", name, context=context, **hyperparameters)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(built, path, sha256=None):
    sha256 = sha256 or digest(path)
    load_weights(built, SpecWeights(file=path.name, sha256=sha256), path)


def refused(built, path, sha256=None):
    before = {name: tensor.clone() for name, tensor in built.state_dict().items()}
    with pytest.raises(UserError) as error:
        load(built, path, sha256)
    message = str(error.value)
    assert "\n" not in message
    assert path.name in message
    return message, before

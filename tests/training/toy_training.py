"""A training that takes a second, for the tests of this folder."""

import pyarrow.parquet as pq
import torch
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from dmlbench.training import loop
from dmlbench.training.assembly import assemble
from dmlbench.training.data import read_roles
from safetensors.torch import load_file

VALUES = {
    "dataset": "toy",
    "network": {
        "backbone": {"name": "convnet", "widths": [8, 8]},
        "pooling": "average",
        "pixels": 16,
        "mode": "gray",
        "mean": [0.5],
        "std": [0.5],
    },
    "embedding_dim": 8,
    "loss": {"name": "proxy_anchor"},
    "miner": None,
    "sampler": {"name": "class_balanced", "images_per_class": 4},
    "split": "half",
    "fold": None,
    "seed": 0,
    "epochs": 4,
    "batch_size": 20,
    "optimizer": {"name": "adamw", "learning_rate": 0.01},
    "transforms": {"train": [{"name": "random_affine", "degrees": 10}]},
    "selection": "best_test_epoch",
}


def outputs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spec_file": folder / "spec.yaml",
        "model": folder / "model.safetensors",
        "last": folder / "last.safetensors",
        "history": folder / "history.parquet",
    }


def train(folder, data, changes=None, **arguments):
    """Train in a folder; returns the last weights."""
    return train_values(folder, data, merged(VALUES, changes or {}), **arguments)


def train_values(folder, data, values, **arguments):
    """The same, of any spec."""
    loop.train(
        values, **data.as_arguments(), **outputs(folder), device="cpu", threads=1, **arguments
    )
    return load_file(folder / "last.safetensors")


def trainer(data, changes=None):
    spec = Spec.model_validate(merged(VALUES, changes or {}))
    roles = read_roles(data.index, data.split, spec.fold)
    cpu = torch.device("cpu")
    return assemble(spec, Feed(Pixels(data.pixels, data.pixel_table), cpu), roles, cpu)


def run_epoch(trainer):
    """Train, evaluate and end one epoch."""
    for _ in trainer.train_epoch():
        pass
    trainer.end_epoch(trainer.evaluate())


def equal(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[k], others[k]) for k in some)


def history(folder):
    return pq.read_table(folder / "history.parquet").to_pylist()


# A sampler that draws from the embeddings of earlier batches.
GREEDY_CORESET = {"name": "greedy_coreset", "pool_size": 40}

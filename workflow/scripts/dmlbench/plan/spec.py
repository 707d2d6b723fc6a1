"""A run's spec: everything that can change its result, and nothing else."""

import hashlib
import json
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from dmlbench.plan.catalogues import Network, Pooling, check_network
from dmlbench.plan.choices import (
    Backbone,
    FileName,
    Loss,
    Miner,
    Model,
    Regularizer,
    Sampler,
    Sha256Start,
)
from dmlbench.plan.recipes import Method, Recipe, check_objective
from dmlbench.plan.recipes import Training as _Training


class SpecWeights(Model):
    """Which weights: a file's name and its sha256, or how that begins."""

    file: FileName
    sha256: Sha256Start


class SpecNetwork(Model):
    """What of a network changes a result: its catalogue entry without title and threads."""

    backbone: Backbone
    weights: SpecWeights | None = None
    pooling: Pooling
    pixels: PositiveInt
    mode: Literal["gray", "rgb"]
    channels: Literal["rgb", "bgr"] = "rgb"
    scale: PositiveFloat = 1.0
    mean: list[float]
    std: list[PositiveFloat]

    @model_validator(mode="after")
    def _parts_fit(self) -> "SpecNetwork":
        check_network(self)
        return self


class Spec(_Training):
    """A training in full: the recipe's values with the method's, the network's and the run's."""

    dataset: str
    network: SpecNetwork
    embedding_dim: PositiveInt
    loss: Loss | None
    miner: Miner | None
    regularizers: list[Regularizer] = []
    sampler: Sampler
    split: str
    fold: NonNegativeInt | None
    seed: NonNegativeInt

    @model_validator(mode="after")
    def _objective_fits(self) -> "Spec":
        check_objective(self)
        if self.compile and any(part.name == "manifold_mixup" for part in self.regularizers):
            raise ValueError("manifold_mixup reaches into the network, which compile: true seals")
        return self

    def as_dict(self) -> dict:
        """Plain values, in a fixed order: what is written to YAML and compared between runs."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits; equal specs have equal digests, on every machine."""
        text = json.dumps(self.as_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def resolve(run, *, network: Network, method: Method, recipe: Recipe, sets: list[dict]) -> dict:
    """The values of a run's spec: recipe, method and network, then the overrides in order."""
    values = recipe.model_dump(exclude={"title", "sampling", "overrides"})
    values |= {
        "dataset": run.dataset,
        "network": network.model_dump(
            exclude={"title": True, "threads": True, "weights": {"urls", "bytes"}}
        ),
        "embedding_dim": run.embedding_dim,
        "loss": method.loss and method.loss.model_dump(),
        "miner": method.miner and method.miner.model_dump(),
        "regularizers": [regularizer.model_dump() for regularizer in method.regularizers],
        "sampler": recipe.sampling[method.sampling].model_dump(),
        "split": run.split,
        "fold": run.fold,
        "seed": run.seed,
    }
    for override in sets:
        values = merged(values, override)
    if method.loss is None:
        values |= {"loss": None, "miner": None, "regularizers": []}
        values |= {"epochs": 0, "warmup_epochs": 0}
    return values


def merged(values: dict, changes: dict) -> dict:
    """`values` with `changes` laid over it, key by key; another `name` replaces the whole choice.

    >>> merged({"loss": {"name": "margin", "beta": 1.2}}, {"loss": {"beta": 0.6}})
    {'loss': {'name': 'margin', 'beta': 0.6}}
    """

    def laid_over(old: Any, new: Any) -> Any:
        if not (isinstance(old, dict) and isinstance(new, dict)):
            return new
        if "name" in new and new["name"] != old.get("name"):
            return new
        return merged(old, new)

    return values | {key: laid_over(values.get(key), change) for key, change in changes.items()}

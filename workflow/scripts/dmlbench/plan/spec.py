"""A run's spec: everything that can change its result, and nothing else."""

import hashlib
import json
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, field_validator, model_validator

from dmlbench.plan.catalogues import Network, Pooling, check_network
from dmlbench.plan.choices import (
    Backbone,
    Choice,
    FileName,
    Loss,
    Miner,
    Model,
    Regularizer,
    Sampler,
    Sha256Start,
    SplitRule,
)
from dmlbench.plan.defaults import complete
from dmlbench.plan.places import merged
from dmlbench.plan.recipes import Method, Recipe, Transforms, check_objective
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

    @field_validator("backbone")
    @classmethod
    def _names_its_options(cls, backbone: Backbone) -> Choice:
        return complete(backbone)

    @model_validator(mode="after")
    def _parts_fit(self) -> "SpecNetwork":
        check_network(self)
        return self


class Spec(_Training):
    """A training in full: the recipe's values with the method's, the network's and the row's.

    Every option of its parts is named, also those left at their defaults.

    Attributes:
        search: identity of the search whose best values are laid over it before it is trained.
    """

    dataset: str
    network: SpecNetwork
    embedding_dim: PositiveInt
    loss: Loss | None
    miner: Miner | None
    regularizers: list[Regularizer] = []
    sampler: Sampler
    split: SplitRule
    fold: NonNegativeInt | None
    seed: NonNegativeInt
    search: str | None = None

    @field_validator("loss", "miner", "sampler", "split")
    @classmethod
    def _names_its_options(cls, part: Choice | None) -> Choice | None:
        return part and complete(part)

    @field_validator("regularizers")
    @classmethod
    def _name_their_options(cls, parts: list[Regularizer]) -> list[Choice]:
        return [complete(part) for part in parts]

    @field_validator("transforms")
    @classmethod
    def _steps_name_their_options(cls, transforms: Transforms) -> Transforms:
        steps = {role: [complete(step) for step in steps] for role, steps in transforms}
        return transforms.model_copy(update=steps)

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


def resolve(
    row, *, dataset: str, split: SplitRule, network: Network, method: Method, recipe: Recipe
) -> dict:
    """The values of a row's spec before overrides and variants: recipe, method and network."""
    shown = {"title", "sampling", "methods", "overrides", "base"}
    values = recipe.model_dump(exclude=shown)
    values |= {
        "dataset": dataset,
        "network": network.model_dump(
            exclude={"title": True, "threads": True, "weights": {"urls", "bytes"}}
        ),
        "embedding_dim": row.embedding_dim,
        "loss": method.loss and method.loss.model_dump(),
        "miner": method.miner and method.miner.model_dump(),
        "regularizers": [regularizer.model_dump() for regularizer in method.regularizers],
        "sampler": recipe.sampling[method.sampling].model_dump(),
        "split": split.model_dump(),
        "fold": row.fold,
        "seed": row.seed,
        "search": None,
    }
    return merged(values, recipe.methods.get(row.method, {}))


def without_training(values: dict) -> dict:
    """The values of a spec whose network is scored as it is."""
    nothing = {"loss": None, "miner": None, "regularizers": [], "epochs": 0, "warmup_epochs": 0}
    return values | nothing

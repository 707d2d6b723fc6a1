"""A run's spec: everything that can change its result, and nothing else."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, NonNegativeInt, PositiveInt, model_validator

from dmlbench import registry
from dmlbench.plan.catalogs.catalogues import NetworkValues, check_installed
from dmlbench.plan.catalogs.choices import (
    Backbone,
    Choice,
    Loss,
    Miner,
    Regularizer,
    Sampler,
    SplitRule,
    Transform,
)
from dmlbench.plan.catalogs.identity import identified
from dmlbench.plan.catalogs.naming import digest_of, with_defaults
from dmlbench.plan.catalogs.recipes import Training as _Training
from dmlbench.plan.catalogs.recipes import check_objective
from dmlbench.values import Added


class SpecNetwork(NetworkValues):
    """The network of a run."""

    @model_validator(mode="after")
    def _is_installed(self) -> "SpecNetwork":
        # Only here: a catalogue may have entries that no run uses.
        check_installed(self.backbone.name)
        return self


class Spec(_Training):
    """A complete training: the values of recipe, method, network and row.

    A plan names every option of its parts, defaults included (`complete`).

    Attributes:
        search: identity of the search whose best values are merged into it before training.
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

    @model_validator(mode="after")
    def _objective_fits(self) -> "Spec":
        check_objective(self)
        if self.compile and any(part.name == "manifold_mixup" for part in self.regularizers):
            raise ValueError("regularizer manifold_mixup does not allow compile: true")
        if self.memory is not None:
            self._check_memory()
        if self.gpus > 1:
            self._check_gpus()
        computed = ("principal_components", "standardized_components", "identity")
        if self.hidden_layers and self.head_initialization in computed:
            raise ValueError(
                f"hidden_layers: head_initialization {self.head_initialization}; allowed: none"
            )
        if self.network.frozen is not None and (self.transforms.train or self.transforms.test):
            raise ValueError("transforms: the network is frozen; allowed: none")
        return self

    def _check_memory(self) -> None:
        taken = self.loss and registry.annotation("losses", self.loss.name, "forward", "tuples")
        if not taken or ("Pairs" not in taken and self.miner is None):
            raise ValueError(
                f"memory: loss {self.loss and self.loss.name}; allowed: one over pairs, or over "
                "triplets with a miner"
            )
        for part in self.regularizers:
            if part.name in ("rho", "rho_anchor", "manifold_mixup"):
                raise ValueError(
                    f"memory: regularizer {part.name}; allowed: embedding_l2, proximity"
                )
        if self.sampler.name.startswith("profs"):
            raise ValueError(f"memory: sampler {self.sampler.name}; allowed: any but profs")

    @property
    def pixels(self) -> int:
        """The side of the images that the network is trained on."""
        sizes = [step.hyperparameters.get("size") for step in self.transforms.train]
        return next((size for size in reversed(sizes) if size), self.network.pixels)

    @property
    def own_best_metrics(self) -> list[str]:
        """The metrics that are also shown at their own best test epoch; none for most specs."""
        if not self.epoch_metrics or self.selection != "best_test_epoch" or not self.epochs:
            return []
        return list(dict.fromkeys([self.selection_metric, *self.epoch_metrics]))

    def _check_gpus(self) -> None:
        if self.batch_size % self.gpus:
            raise ValueError(
                f"gpus: {self.gpus}; allowed: divisors of batch_size {self.batch_size}"
            )
        if self.compile:
            raise ValueError(f"gpus: {self.gpus}: compile: true; allowed: false")
        if any(part.name == "manifold_mixup" for part in self.regularizers):
            raise ValueError(f"gpus: {self.gpus}: regularizer manifold_mixup; allowed: any other")

    def as_dict(self) -> dict:
        """Plain values, in a fixed order: what is written to YAML and compared between runs."""
        return self.model_dump(mode="json")

    @property
    def identity(self) -> dict:
        """The values that identify it: `known` without those that equal a field's default.

        So adding a field whose default is the earlier behavior does not change the digests of
        finished trainings. A default must never be changed. Searches and Snakemake compare `known`,
        so the field must be `Added`: `accumulate: Annotated[int, Added()] = 1`.
        """
        return _with_parts(self.model_dump(mode="json", exclude_defaults=True), _identified)

    @property
    def known(self) -> dict:
        """Plain values that are compared with finished results.

        Fields and options that are `Added` and have their default are left out.
        """
        return _with_parts(self.model_dump(mode="json", exclude=_added(self)), _identified)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits; equal specs have equal digests, on every machine."""
        return digest_of(self.identity, 16)


def complete(values: dict) -> dict:
    """The values of a spec with every option of its parts explicit.

    Raises:
        UserError: a part does not exist.
    """
    return _with_parts(values, with_defaults)


def _with_parts(values: dict, changed: Callable[[type[Choice], Any], dict]) -> dict:
    """The values of a spec with every part changed; a key that is missing is not added."""
    kinds = {"loss": Loss, "miner": Miner, "sampler": Sampler, "split": SplitRule}
    spec = values | {key: values[key] and changed(kind, values[key]) for key, kind in kinds.items()}
    network = values["network"]
    spec["network"] = network | {"backbone": changed(Backbone, network["backbone"])}
    if network.get("frozen"):
        spec["network"]["frozen"] = [changed(Transform, step) for step in network["frozen"]]
    if "regularizers" in values:
        spec["regularizers"] = [changed(Regularizer, part) for part in values["regularizers"]]
    if "transforms" in values:
        spec["transforms"] = {
            role: [changed(Transform, step) for step in steps]
            for role, steps in values["transforms"].items()
        }
    return spec


def _added(model: BaseModel) -> dict:
    """The fields of a model, and of the models in it, that are `Added` and have their default."""
    fields = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if Added() in field.metadata and value == field.default:
            fields[name] = True
        elif isinstance(value, BaseModel):
            fields[name] = _added(value)
    return {name: inner for name, inner in fields.items() if inner}


def _identified(kind: type[Choice], part: dict) -> dict:
    return identified(kind.package, part)

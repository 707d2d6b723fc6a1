"""The versions of the code that a result depends on: those of the parts that it names.

A version is a whole number that is raised by hand when the same options give other results; tests
compare what each part computes with what was recorded for its version.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from dmlbench import registry
from dmlbench.data.version import VERSION as DATA
from dmlbench.plan.catalogs.identity import identified
from dmlbench.training.version import VERSION as TRAINING

_OBJECTIVE = {"loss": "losses", "miner": "miners", "sampler": "samplers"}


def versions(spec: BaseModel | Mapping[str, Any]) -> dict[str, int]:
    """Versions of training and of exactly the parts that a spec names.

    Args:
        spec: a `dmlbench.plan.specs.spec.Spec`, or its plain values. If its split is a rule with
            its options instead of a name, the rule counts.

    Returns:
        {"training": 1, "losses/margin": 1, "samplers/random": 1, ...}
    """
    return {"training": TRAINING} | _of_parts(_parts(_plain(spec)))


def sources(spec: BaseModel | Mapping[str, Any]) -> list[str]:
    """The modules that a training's result depends on, as paths below the library without suffix.

    Args:
        spec: as `versions` takes it.

    Returns:
        ["losses/margin", "networks/backbones/resnet50", ..., "training/loop"]
    """
    parts = {
        f"{package}/{choice if isinstance(choice, str) else choice['name']}"
        for package, choice in _parts(_plain(spec))
    }
    return sorted({"training/loop", *parts})


def feature_versions(network: BaseModel | Mapping[str, Any]) -> dict[str, int]:
    """Versions of the code that computes a frozen network's features; training's has the network.

    Args:
        network: a `dmlbench.plan.specs.spec.SpecNetwork`, or its plain values.
    """
    return {"training": TRAINING} | _of_parts(_of_network(_plain(network)))


def data_versions(dataset: BaseModel | Mapping[str, Any]) -> dict[str, int]:
    """Versions of the code that prepares a data set: index, pixels, layout, generator.

    Args:
        dataset: a `dmlbench.plan.catalogs.catalogues.Dataset`, or its plain values.

    Returns:
        {"data": 1, "layouts/class_folders": 1, "generators/glyphs": 1, ...}
    """
    values = _plain(dataset)
    named = [("data/layouts", values["layout"])]
    if values.get("generator"):
        named.append(("data/generators", values["generator"]))
    return {"data": DATA} | _of_parts(named)


def part_name(package: str, name: str) -> str:
    """How a part is named where versions are listed: by its package's last folder.

    >>> part_name("networks/backbones", "resnet50")
    'backbones/resnet50'
    """
    return f"{package.rpartition('/')[2]}/{name}"


def _parts(values: Mapping[str, Any]) -> list[tuple[str, str | Mapping[str, Any]]]:
    """The parts that a spec names: package, and name or name with options."""
    named = [(package, values[key]) for key, package in _OBJECTIVE.items() if values.get(key)]
    named += [("regularizers", each) for each in values["regularizers"]]
    named += [
        ("data/transforms", each) for chain in values["transforms"].values() for each in chain
    ]
    named += _of_network(values["network"])
    if isinstance(values["split"], Mapping):
        named.append(("data/splits", values["split"]))
    return named


def _of_network(network: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Its backbone, and the transforms of a frozen one."""
    transforms = network.get("frozen") or []
    frozen = [("data/transforms", each) for each in transforms]
    return [("networks/backbones", network["backbone"]), *frozen]


def _of_parts(named: list[tuple[str, str | Mapping[str, Any]]]) -> dict[str, int]:
    by_part = {}
    for package, choice in named:
        choice = {"name": choice} if isinstance(choice, str) else choice
        name = identified(package, choice)["name"]
        by_part[part_name(package, name)] = registry.version(package, choice["name"])
    return dict(sorted(by_part.items()))


def _plain(values: BaseModel | Mapping[str, Any]) -> Mapping[str, Any]:
    return values.model_dump() if isinstance(values, BaseModel) else values

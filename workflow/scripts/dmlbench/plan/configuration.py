"""What config/config.yaml and config/rehearsal.yaml may say."""

from typing import Any, Literal

from pydantic import Field, PositiveInt

from dmlbench.plan.catalogues import Network
from dmlbench.plan.choices import Folder, Generator, Identifier, Metric, Model, Sampler, SplitRule


class SearchRehearsal(Model):
    """How a rehearsal shortens searches: values of each parameter, trials of each search."""

    values: int = Field(ge=2)
    budget: PositiveInt


class ExperimentRehearsal(Model):
    """How a rehearsal shortens experiments: seeds of each, and options of some."""

    seeds: PositiveInt
    options: dict[Identifier, dict[str, Any]] = {}


class Rehearsal(Model):
    """What a rehearsal uses instead of every data set, network and training setting.

    Attributes:
        generator: draws the toy data that stands behind every data set.
        splits: split rule -> the one in its place, for rules that read what the toy data lacks.
        network: the toy network that stands behind every network.
        sampler: of every recipe; a variant may have another.
        set: values laid over the spec of every run, its variant included.
        searches, experiments: how they are shortened; in full where not given.
        unscored: metrics of data sets that are not computed.
    """

    generator: Generator
    splits: dict[Identifier, SplitRule] = {}
    network: Network
    sampler: Sampler
    set: dict[str, Any]
    searches: SearchRehearsal | None = None
    experiments: ExperimentRehearsal | None = None
    unscored: list[Metric] = []


class Data(Model):
    """Where data sets come from.

    Attributes:
        mirrors: folders or base addresses, tried before the published ones.
        alternatives: data set -> which of its catalogue entry's alternatives is used.
    """

    mirrors: list[str] = []
    alternatives: dict[Identifier, Identifier] = {}


class Pathvars(Model):
    """Attributes: results: the folder that everything is written to."""

    results: Folder


class Configuration(Model):
    """config/config.yaml, with what the command line and the profile change of it."""

    pathvars: Pathvars
    data: Data = Data()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    runs_per_gpu: PositiveInt = 1
    environment: Literal["cpu", "gpu"] = "cpu"
    studies: list[Identifier] = Field(min_length=1)
    remove: bool = False
    rehearsal: Rehearsal | None = None

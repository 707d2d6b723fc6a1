"""What config/config.yaml and config/rehearsal.yaml may say."""

import os
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from dmlbench.plan.catalogues import Network
from dmlbench.plan.choices import Folder, Generator, Identifier, Metric, Model, Sampler, SplitRule


class SearchRehearsal(Model):
    """How a rehearsal shortens searches.

    Attributes:
        values: of each parameter.
        budget: trials of a coordinate search.
        trials: of every other one; as `budget` where not given.
    """

    values: int = Field(ge=2)
    budget: PositiveInt
    trials: PositiveInt | None = None


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
        seeds, folds: how many of each are trained; rows of others share their runs. All where not
            given.
        searches, experiments: how they are shortened; in full where not given.
        unscored: metrics of data sets that are not computed.
    """

    generator: Generator
    splits: dict[Identifier, SplitRule] = {}
    network: Network
    sampler: Sampler
    set: dict[str, Any]
    seeds: PositiveInt | None = None
    folds: PositiveInt | None = None
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

    @field_validator("results")
    @classmethod
    def _is_written_in_full(cls, folder: str) -> str:
        if folder.startswith("~"):
            full = os.path.expanduser(folder)
            raise ValueError(f"~ is not expanded here; allowed: a path in full, such as {full}")
        return folder


class Configuration(Model):
    """config/config.yaml, with what the command line and the profile change of it.

    Attributes:
        gpu_memory: billions of bytes that a GPU here holds; unknown if not given.
        same_digits: whether CPUs compute with the instructions that all of them have.
        studies: files of `studies/`, without their ending; all of them if not given.
        search_trials: budget of every search whose strategy has no pass to end; that of
            searches.yaml if not given.
    """

    pathvars: Pathvars
    data: Data = Data()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    runs_per_gpu: PositiveInt = 1
    gpu_memory: PositiveFloat | None = None
    same_digits: bool = False
    environment: Literal["cpu", "gpu"] = "cpu"
    studies: Annotated[list[Identifier], Field(min_length=1)] | None = None
    search_trials: PositiveInt | None = None
    remove: bool = False
    rehearsal: Rehearsal | None = None

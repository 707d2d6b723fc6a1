"""The schema of config/config.yaml and config/rehearsal.yaml."""

import os
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.choices import (
    Folder,
    Generator,
    Identifier,
    Metric,
    Model,
    Sampler,
    SplitRule,
)


class SearchRehearsal(Model):
    """How a rehearsal shortens searches.

    Attributes:
        values: of each parameter.
        budget: trials of a coordinate search.
        trials: of every other search; `budget` if not given.
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
        generator: draws the toy data that replaces every data set.
        splits: split rule -> its replacement, for rules that read what the toy data lacks.
        network: the toy network that replaces every network.
        sampler: of every recipe; a variant may have another.
        set: values merged into the spec of every run, its variant included.
        seeds, folds: how many of each are trained; rows with other seeds or folds share their runs.
            All if not given.
        searches, experiments: how they are shortened; in full if not given.
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
        alternatives: data set -> the alternative of its catalogue entry that is used.
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
            raise ValueError(f"~ is not expanded here; allowed: a full path, such as {full}")
        return folder


class Configuration(Model):
    """config/config.yaml, with the changes of command line and profile.

    Attributes:
        own: folders of the user, read after `config/`; names or patterns from the working folder.
        gpu_check: a file of `make gpu-check` on the GPU that trains, on which estimates then rest.
        gpu_memory: billions of bytes that one GPU of this machine holds; unknown if not given.
        same_digits: whether CPUs use only instructions that all of them have.
        studies: files of `studies/`, without suffix; all of them if not given.
        reproduced_share: share of a published study's runs that `reproduced_<study>` trains again;
            of at least three runs.
        search_trials: budget of every search that need not complete a pass; that of searches.yaml
            if not given.
    """

    pathvars: Pathvars
    own: list[str] = []
    data: Data = Data()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    runs_per_gpu: PositiveInt = 1
    gpu_check: str | None = None
    gpu_memory: PositiveFloat | None = None
    same_digits: bool = False
    environment: Literal["cpu", "gpu"] = "cpu"
    studies: Annotated[list[Identifier], Field(min_length=1)] | None = None
    reproduced_share: float = Field(default=0.1, gt=0, le=1)
    search_trials: PositiveInt | None = None
    remove: bool = False
    rehearsal: Rehearsal | None = None

"""The schema of config/experiments.yaml: results that need no training of an image network."""

from pydantic import Field, NonNegativeInt, PositiveInt

from dmlbench import registry
from dmlbench.plan.catalogs.choices import Choice, Model
from dmlbench.plan.catalogs.identity import identified
from dmlbench.plan.catalogs.naming import complete, digest_of


class ExperimentChoice(Choice):
    package = "experiments"


class Experiment(Model):
    """An experiment with its options, repeated over seeds.

    Attributes:
        experiment: a file of dmlbench/experiments with its options.
        seeds: one job each.
        threads: CPU threads of a job.
    """

    title: str
    experiment: ExperimentChoice
    seeds: list[NonNegativeInt] = Field(default=[0], min_length=1)
    threads: PositiveInt = 1

    def folder(self, name: str) -> str:
        """Its folder below `results/experiments`: its name and a digest of options and version."""
        version = registry.version("experiments", self.experiment.name)
        known = identified("experiments", complete(self.experiment))
        return f"{name}-{digest_of([known, version], 8)}"

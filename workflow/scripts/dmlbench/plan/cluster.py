"""The schema of config/resources.yaml and of a cluster's site.yaml."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from dmlbench.errors import UserError
from dmlbench.plan.choices import Identifier, Model
from dmlbench.plan.read import read_yaml

# What Slurm says of a job that asks for more than any node has.
_NO_SUCH_NODE = (
    "More processors requested than permitted",
    "Requested node configuration is not available",
)


class Needs(Model):
    """What one rule's jobs need.

    Attributes:
        mem_mb: memory, in MB; Snakemake itself takes 130 MB in a cluster's job.
        runtime: minutes.
        gpu: GPUs.
    """

    mem_mb: int = Field(ge=300)
    runtime: PositiveInt
    gpu: NonNegativeInt = 0


class Resources:
    """The table of all rules' needs."""

    def __init__(self, path: Path):
        self.path = path
        self.needs = read_yaml(path, dict[Identifier, Needs])

    def of(self, rule: str, processes: Callable[[Any], int] | None = None) -> dict[str, Any]:
        """The `resources:` of a rule; memory and time grow with each attempt.

        Args:
            rule: a key of the table.
            processes: of a job by its wildcards, where it may have several: each needs the GPUs and
                the memory of the table, on the same machine.

        Raises:
            UserError: the table lacks the rule.
        """
        if rule not in self.needs:
            raise UserError(
                f"{self.path}: {rule}: is missing; allowed: what its jobs need, such as "
                f"{rule}: {{mem_mb: 4000, runtime: 60}}"
            )
        needs = self.needs[rule]
        gpu = {"gpu": needs.gpu} if needs.gpu else {}
        shared = gpu | {
            "mem_mb": lambda wildcards, attempt: needs.mem_mb * attempt,
            "runtime": lambda wildcards, attempt: needs.runtime * attempt,
        }
        if processes is None:
            return shared
        return shared | {
            "gpu": lambda wildcards: needs.gpu * processes(wildcards),
            "mem_mb": lambda wildcards, attempt: needs.mem_mb * attempt * processes(wildcards),
        }


def _word(value: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", value):
        raise ValueError("only letters, digits and ._+- are allowed")
    return value


Word = Annotated[str, AfterValidator(_word)]


class Site(Model):
    """A cluster, as its users see it.

    Attributes:
        account: what jobs are charged to.
        gpu_model: the kind of GPU to ask for; none for any.
        cores: the most CPU cores that a job may ask for; none for as many as its rule says.
        partitions: name -> limits, as the executor's `--slurm-partition-config` names them.
    """

    account: Word | None
    gpu_model: Word | None = None
    cores: PositiveInt | None = None
    partitions: dict[Word, dict[str, Any]] = {}


def read_site(path: Path) -> Site:
    """The site of a Slurm profile.

    Raises:
        UserError: the file lacks the account, or has an unknown key or a wrong value.
    """
    site = read_yaml(path, Site)
    if not site.account:
        raise UserError(
            f"{path}: account: is missing; name the Slurm account that your jobs are charged to "
            "(`sacctmgr show associations user=$USER` lists yours)"
        )
    return site


def asked_for_too_much(logs: Iterable[str]) -> bool:
    """Whether Slurm refused a job because no node has what it asks for, by Snakemake's logs."""
    texts = [Path(log).read_text(errors="replace") for log in logs]
    return any(refusal in text for text in texts for refusal in _NO_SUCH_NODE)

"""The schema of config/resources.yaml and of a cluster's site.yaml, and whether the two fit."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from dmlbench.errors import UserError, located, unknown
from dmlbench.plan.catalogs import slurm
from dmlbench.plan.catalogs.choices import Identifier, Model
from dmlbench.plan.catalogs.read import read_yaml
from dmlbench.plan.catalogs.slurm import Nodes

NOT_SUBMITTED = "was not submitted"
"""In Snakemake's log, between a job and what Slurm says of it."""

_SAFETY, _START = 6, 30
"""A job asks for so many times its estimate, plus so many minutes: before anything has run here,
estimates are of an H200 and an idle file system."""


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


def _word(value: str) -> str:
    if not re.fullmatch(r"[\w.+-]+", value):
        raise ValueError("only letters, digits and ._+- are allowed")
    return value


def _model(value: str) -> str:
    if not re.fullmatch(r"[a-zA-Z0-9_.]+", value):
        raise ValueError(
            "Snakemake's plugin for Slurm takes only letters, digits and ._ in it; allowed: such a "
            "name, or none and, below `partitions`, those with this GPU"
        )
    return value


def _limits(value: dict[str, Any]) -> dict[str, Any]:
    if "max_runtime" in value:
        slurm.minutes(value["max_runtime"])
    return value


Word = Annotated[str, AfterValidator(_word)]


class Site(Model):
    """A cluster, as its users see it.

    Attributes:
        account: what jobs are charged to.
        qos: the quality of service to ask for; none for the account's own.
        jobs: the most in the queue at once.
        gpu_model: the kind of GPU to ask for; none for any.
        partitions: name -> limits, as the executor's `--slurm-partition-config` names them.
    """

    account: Word | None
    qos: Word | None = None
    jobs: PositiveInt = 100
    gpu_model: Annotated[str, AfterValidator(_model)] | None = None
    partitions: dict[Word, Annotated[dict[str, Any], AfterValidator(_limits)]] = {}

    def nodes(self) -> list[Nodes]:
        """What a job can have, by Slurm and by the limits here; empty if neither says any."""
        longest = slurm.longest_by_qos().get(self.qos or "", math.inf)
        known = [each._replace(minutes=min(each.minutes, longest)) for each in slurm.nodes()]
        if not self.partitions:
            return [each for each in known if each.is_default]
        gpus = {self.gpu_model or "": math.inf}
        any_node = Nodes("", False, math.inf, math.inf, math.inf, gpus)
        found = []
        for name, limits in self.partitions.items():
            of_partition = [each for each in known if each.partition == name]
            for each in of_partition or [any_node._replace(partition=name)]:
                most = limits.get("max_gpu", 0)
                found.append(
                    each._replace(
                        minutes=min(
                            each.minutes, slurm.minutes(limits.get("max_runtime", "infinite"))
                        ),
                        cores=min(each.cores, limits.get("max_threads", math.inf)),
                        mem_mb=min(each.mem_mb, limits.get("max_mem_mb", math.inf)),
                        gpus={model: min(number, most) for model, number in each.gpus.items()},
                    )
                )
        return found

    @property
    def cores(self) -> int | None:
        """The most cores that a job may ask for on any of its nodes; None if unknown."""
        least = min((each.cores for each in self.nodes()), default=math.inf)
        return None if math.isinf(least) else int(least)


def read_site(path: Path) -> Site:
    """The site of a Slurm profile.

    Raises:
        UserError: the file lacks the account, has an unknown key or a wrong value, or names what
            this Slurm does not have.
    """
    site = read_yaml(path, Site)
    if not site.account:
        raise UserError(
            f"{path}: account: is missing; name the Slurm account that your jobs are charged to "
            "(`sacctmgr show associations user=$USER` lists yours)"
        )
    with located(str(path)):
        accounts = {name.lower(): qos for name, qos in slurm.accounts().items()}
        _check("account", [site.account.lower()], accounts)
        _check("qos", [site.qos] if site.qos else [], accounts.get(site.account.lower(), ()))
        nodes = slurm.nodes()
        _check("partitions", site.partitions, {each.partition for each in nodes})
        models = {model for each in nodes for model in each.gpus if model}
        _check("gpu_model", [site.gpu_model] if site.gpu_model else [], models)
    return site


def _check(key: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise a UserError for a name that is not known, if any are."""
    for name in names if known else ():
        if name not in known:
            raise UserError(f"{key}: {unknown('name', name, known)}")


class Resources:
    """The table of all rules' needs.

    Args:
        path: the file.
        site: where the jobs will run; None for this machine.
        estimates: rule -> the seconds of a job by its wildcards, None if unknown; for a cluster.
    """

    def __init__(
        self,
        path: Path,
        site: Site | None = None,
        estimates: Mapping[str, Callable[[Any], float | None]] | None = None,
    ):
        self.path = path
        self.needs = read_yaml(path, dict[Identifier, Needs])
        self.model = site and site.gpu_model
        self.nodes = site.nodes() if site else []
        self.estimates = estimates or {} if site else {}

    def of(self, rule: str, processes: Callable[[Any], int] | None = None) -> dict[str, Any]:
        """The `resources:` of a rule; memory and time grow with each attempt, up to the limits.

        Args:
            rule: a key of the table.
            processes: of a job by its wildcards, where it may have several: each needs the GPUs and
                the memory of the table, on the same machine.

        Raises:
            UserError: the table lacks the rule; or, when a resource is asked for, no node has it.
        """
        if rule not in self.needs:
            raise UserError(
                f"{self.path}: {rule}: is missing; allowed: what its jobs need, such as "
                f"{rule}: {{mem_mb: 4000, runtime: 60}}"
            )
        needs = self.needs[rule]
        count = processes or (lambda wildcards: 1)

        def mem_mb(wildcards, attempt):
            several = count(wildcards)
            most = self._fitting(rule, several).mem_mb
            # Attempts beyond the second are for more time.
            return int(min(needs.mem_mb * min(attempt, 2) * several, most))

        def runtime(wildcards, attempt):
            most = self._fitting(rule, count(wildcards)).minutes
            return int(min(self.minutes(rule, wildcards) * attempt, most))

        found = {"mem_mb": mem_mb, "runtime": runtime}
        if needs.gpu:
            found["gpu"] = lambda wildcards: needs.gpu * count(wildcards)
            found |= {"gpu_model": self.model} if self.model else {}
        return found

    def minutes(self, rule: str, wildcards: Any) -> int:
        """The time that a job needs: that of the table, or less by its estimate."""
        seconds = self.estimates[rule](wildcards) if rule in self.estimates else None
        most = self.needs[rule].runtime
        return most if seconds is None else min(most, _START + math.ceil(_SAFETY * seconds / 60))

    def shortened(self, wanted: Mapping[str, int]) -> Iterator[str]:
        """A line for each rule of which a job cannot have its time.

        Args:
            wanted: rule -> the minutes that its longest job needs.

        Raises:
            UserError: no node has what a rule's jobs need.
        """
        for rule, minutes in wanted.items():
            nodes = self._fitting(rule)
            if nodes.minutes < minutes:
                yield (
                    f"{self.path}: {rule}: runtime: {minutes} minutes are more than the "
                    f"{nodes.minutes:.0f} of partition {nodes.partition}, which jobs get instead; "
                    "a training or search that takes longer continues in its next attempt"
                )

    def most_minutes(self, gpus: int, mem_mb: int) -> float:
        """The longest time of a job that has this; infinite if no limit is known."""
        return max((each.minutes for each in self._enough(gpus, mem_mb)), default=math.inf)

    def _enough(self, gpus: int, mem_mb: int) -> list[Nodes]:
        return [
            each
            for each in self.nodes
            if each.mem_mb >= mem_mb and (not gpus or each.gpus_of(self.model) >= gpus)
        ]

    def _fitting(self, rule: str, processes: int = 1) -> Nodes:
        """The nodes for a rule's jobs: of those that have what one needs, with most time."""
        needs = self.needs[rule]
        gpus, mem_mb = needs.gpu * processes, needs.mem_mb * processes
        if not self.nodes:
            return Nodes("", True, math.inf, math.inf, math.inf, {})
        enough = self._enough(gpus, mem_mb)
        if not enough:
            has = "; ".join(
                f"{each.partition}: {each.mem_mb} MB, {each.gpus_of(self.model)} GPUs"
                for each in self.nodes
            )
            of_model = f" {self.model}" if self.model else ""
            raise UserError(
                f"{self.path}: {rule}: {mem_mb} MB and {gpus} GPUs{of_model} are more than a node "
                f"has ({has}); lower them, or name other partitions or GPUs in site.yaml"
            )
        return max(enough, key=lambda each: (each.minutes, each.mem_mb))


def was_refused(logs: Iterable[str]) -> bool:
    """Whether Slurm refused a job of a call, by Snakemake's logs."""
    return any(
        NOT_SUBMITTED in Path(log).read_text(errors="replace", encoding="utf-8") for log in logs
    )

"""What a Slurm says of itself and of a user's jobs; nothing where it may not be asked."""

import functools
import getpass
import math
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError
from dmlbench.plan import paths

_PATIENCE = 20
"""Seconds after which a Slurm that does not answer counts as one that may not be asked."""

_NAMED = "dmlbench"
"""The beginning of the names of all jobs (profiles/slurm/config.yaml)."""

_MEMORY_OF_A_JOB = ("PartitionName", "MaxMemPerNode")

_UNITS = {"d": 24 * 60, "h": 60, "m": 1, "s": 1 / 60}


class Nodes(NamedTuple):
    """Nodes of one kind in a partition, and what a job can have on one of them.

    Attributes:
        is_default: whether jobs that name no partition go to this one.
        minutes: a job's time; infinite without a limit.
        gpus: model -> number; nodes may not say the model, which then is empty.
    """

    partition: str
    is_default: bool
    minutes: float
    cores: float
    mem_mb: float
    gpus: dict[str, float]

    def gpus_of(self, model: str | None) -> float:
        """The number of GPUs of a model, or of any if it is None."""
        return sum(self.gpus.values()) if model is None else self.gpus.get(model, 0)


# Profile, site and needs ask; one that does not answer is waited for once.
@functools.cache
def nodes() -> list[Nodes]:
    """The nodes of all partitions that the user sees, as they are when first asked for."""
    most = {}
    for line in _asked("scontrol", "show", "partition", "--oneliner"):
        name, memory = (re.search(rf"{key}=(\S+)", line) for key in _MEMORY_OF_A_JOB)
        if name and memory and memory[1].isdigit():
            most[name[1]] = int(memory[1])
    found = []
    for line in _asked("sinfo", "--noheader", "--exact", "--format=%P|%l|%c|%m|%G"):
        partition, limit, cores, memory, gres = line.split("|")
        gpus: dict[str, float] = {}
        for model, number in re.findall(r"(?:^|,)gpu:(?:([^:,(]+):)?(\d+)", gres):
            gpus[model] = gpus.get(model, 0) + int(number)
        is_default = partition.endswith("*")
        partition = partition.removesuffix("*")
        limits = minutes(limit), int(cores), min(int(memory), most.get(partition, math.inf))
        found.append(Nodes(partition, is_default, *limits, gpus))
    return found


def minutes(time: str | float) -> float:
    """Minutes of a time limit.

    Args:
        time: minutes; `1d12h`; or as Slurm writes it, `1-12:00:00`, `30:00` or `infinite`.

    Raises:
        ValueError: it has another form.
    """
    text = str(time).strip().lower()
    if text in ("infinite", "unlimited"):
        return math.inf
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if re.fullmatch(r"(\d+[dhms])+", text):
        parts = re.findall(r"(\d+)([dhms])", text)
        return sum(int(number) * _UNITS[unit] for number, unit in parts)
    if match := re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", text):
        given = zip(match.groups(), _UNITS.values(), strict=True)
        return sum(int(number or 0) * unit for number, unit in given)
    raise ValueError("is not a time; allowed: minutes, such as 90, or 1d12h")


@functools.cache
def accounts() -> dict[str, set[str]]:
    """The user's accounts and the QOS of each."""
    words = ("list", "user", getpass.getuser(), "format=account,qos")
    found: dict[str, set[str]] = {}
    for line in _asked("sacctmgr", "--noheader", "--parsable2", "--associations", *words):
        account, _, qos = line.partition("|")
        found.setdefault(account, set()).update(filter(None, qos.split(",")))
    return found


@functools.cache
def longest_by_qos() -> dict[str, float]:
    """QOS -> minutes of a job, of those that limit them."""
    words = ("list", "qos", "format=name,maxwall")
    lines = (line.split("|") for line in _asked("sacctmgr", "--noheader", "--parsable2", *words))
    return {name: minutes(limit) for name, limit in lines if limit}


class Queued(NamedTuple):
    """A job in the queue.

    Attributes:
        state: `PENDING`, `RUNNING`, or another word of Slurm's.
    """

    id: str
    state: str


def logs(results: str | Path) -> Path:
    """Where Slurm writes what jobs print: `<rules of the job>/<job>/<id>.log`."""
    return Path(results, paths.LOGS, "slurm").resolve()


def queue(results: str | Path) -> dict[tuple[str, str], Queued]:
    """(rule, job) of a results folder -> its job in the queue.

    Of several submitted as one, whose folder does not tell their rules apart, those that have the
    name of the first.
    """
    folder = logs(results)
    found = {}
    # Not asked where no call has used a cluster: a Slurm that does not answer takes its time.
    if not folder.exists():
        return found
    columns = "--Format=JobID:20,State:20,StdOut:4000"
    for line in _asked("squeue", "--noheader", _possible(results), columns):
        number, state, log = line.split(None, 2)
        if Path(log.strip()).is_relative_to(folder):
            rules, *words = Path(log.strip()).relative_to(folder).parent.parts
            what = re.sub(r"-and-\d+-more$", "", "/".join(words))
            is_group = rules.startswith("group_")
            for rule in paths.RULES if is_group else [rules.removeprefix("rule_")]:
                found[rule, what] = Queued(number, state)
    return found


def _possible(results: str | Path) -> str:
    """The option of squeue that limits it to jobs that may be of a results folder."""
    if not os.stat(results).st_mode & stat.S_IWGRP:
        return "--me"
    # Only the few jobs of ours are asked for their logs: the column is of a fixed, great width.
    named = (line.split() for line in _asked("squeue", "--noheader", "--format=%i %j"))
    ours = [words[0] for words in named if words[1:] and words[1].startswith(_NAMED)]
    return f"--jobs={','.join(ours) or 0}"


def cancel_what_was_left(results: str | Path) -> None:
    """Cancel what a call that was killed has left waiting in the queue.

    Raises:
        UserError: some of it runs, or is another user's and waits; it would be made twice.
    """
    left = {job.id for job in queue(results).values()}
    if left:
        _asked("scancel", "--state=PENDING", *sorted(left))
    states = ("RUNNING", "PENDING")
    kept = sorted({job.id for job in queue(results).values() if job.state in states})
    if kept:
        raise UserError(
            f"{results}: Slurm has {len(kept)} jobs of a call that was killed; wait until they "
            f"have ended, or cancel them, which loses little: scancel {' '.join(kept)}"
        )


def _asked(*command: str) -> list[str]:
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []

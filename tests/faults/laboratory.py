"""A finished toy study, copies of it to be broken, and what became of their results."""

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil
from dmlbench import provenance
from dmlbench.parquet import read_table
from dmlbench.plan import paths
from dmlbench.provenance import Record
from dmlbench.training.checkpoint_cleanup import CHECKPOINT
from lab_study import LabProject
from project import REPOSITORY, local_environment

TARGETS = ("toy", "results/audit/all.csv", "results/agreement.csv", "results/claims.csv")
HOOKS = REPOSITORY / "tests" / "faults" / "hooks"
_TIMED = re.compile(r"timings\.csv|runs\.html|report\.html|study\.tex")
_NO_RESULT = {".checked", ".claimed", ".jobs", ".rendered", "plan.json", provenance.FILE}
_NO_RESULT |= {".snakemake_timestamp"}
_NOT_COMPARED = ("logs", "costs", "workers")
_HANDED_ON = (".embeddings.parquet", ".train_embeddings.parquet")


class Outcome(NamedTuple):
    """What became of a fault.

    Attributes:
        word: survived (no call failed, the results are the same), noticed (a line names it, and
            what the line says leads to the same results) or silent (neither).
        note: what was hit, and what was said.
    """

    word: str
    note: str


class Said(NamedTuple):
    """A finished call: its exit status, and what it printed."""

    status: int
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines that say why a call or a job ended, or which results stay as they are."""
        found = [line for line in self.text.splitlines() if line.startswith("dmlbench")]
        return [line for line in found if "what is finished is kept" not in line]


class Broken:
    """A copy of the finished project in which something is broken."""

    def __init__(self, folder: Path):
        self.folder, self.results = folder, folder / "results"
        self.output = folder.with_suffix(".output")

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, **hooks: str
    ) -> subprocess.Popen:
        """Start a call of Snakemake in a group of its own.

        Args:
            environment: variables of its own.
            hooks: what tests/faults/hooks does in each process of the call.
        """
        own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HOOKS) if hooks else ""}
        own |= {f"LAB_{name.upper()}": value for name, value in hooks.items()}
        with open(self.output, "w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "rules", *arguments],
                cwd=self.folder,
                env=local_environment() | own | (environment or {}),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def call(
        self, *arguments: str, environment: Mapping[str, str] | None = None, **hooks: str
    ) -> Said:
        """Call Snakemake and wait for its end."""
        called = self.start(*arguments, environment=environment, **hooks)
        return Said(called.wait(), self.output.read_text())

    def ended(self, *arguments: str) -> list[Said]:
        """Repeat a call, or one for everything, and do what it says, until it has no error."""
        arguments = arguments or ("--", *TARGETS)
        said = [self.call(*arguments)]
        while said[-1].status and len(said) < 12 and said[-1].lines:
            lines = said[-1].text.splitlines()
            advice = next((line for line in lines if advised(line) or advised_in_shell(line)), "")
            if in_shell := advised_in_shell(advice):
                subprocess.run(in_shell, cwd=self.folder, check=True)
            elif again := advised(advice):
                said.append(self.call(*again))
            said.append(self.call(*arguments))
        return said

    def plans_nothing(self, *targets: str) -> bool:
        return "Nothing to be done" in self.call("--dry-run", "--", *(targets or TARGETS)).text

    def remove(self, record: Record, folder: Path) -> str:
        """Remove what a job left, as if it had not run; returns its first file as a target."""
        for name in record.files:
            path = self.results / folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for left in (".kept", *_HANDED_ON):
            path = self.results / folder / left
            if record.rule == "train" and path.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if record.rule == "search_worker":
            for state in self.results.glob("searches/*/state-*"):
                shutil.rmtree(state)
        return f"results/{folder / next(iter(record.files))}"


class Lab:
    """A folder with a finished toy study.

    Attributes:
        jobs: the records of its jobs, each with its folder below the results, by rule.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        project = folder / "finished"
        project.mkdir(parents=True, exist_ok=True)
        LabProject(project)
        self.finished = Broken(project)
        trace = folder / "modules"
        trace.mkdir(exist_ok=True)
        said = self.finished.call("--", *TARGETS, trace=str(trace))
        assert said.status == 0, said.text
        self.modules = {line for file in trace.iterdir() for line in file.read_text().splitlines()}
        self.jobs: dict[str, list[tuple[Record, Path]]] = {}
        for file in sorted(self.finished.results.rglob(provenance.FILE)):
            records = {
                tuple(r.files): r for r in provenance.in_folder(str(file.parent)).by_name.values()
            }
            for record in records.values():
                job = (record, file.parent.relative_to(self.finished.results))
                self.jobs.setdefault(record.rule, []).append(job)
        self.expected = contents(self.finished.results)

    @contextlib.contextmanager
    def broken(self, *, clone: bool = False) -> Iterator[Broken]:
        """A copy, with dates and hard links; without what Snakemake knows if it is a clone."""
        folder = self.folder / "broken"
        subprocess.run(["cp", "-a", str(self.finished.folder), str(folder)], check=True)
        if clone:
            shutil.rmtree(folder / ".snakemake")
        try:
            yield Broken(folder)
        finally:
            shutil.rmtree(folder)

    def job(
        self, kind: str, number: int, chance: random.Random, first: Collection[str] = ()
    ) -> tuple[Record, Path]:
        """A job of the rule whose turn it is; each kind of fault has its own order of rules.

        Args:
            first: rules whose turn comes before that of others.
        """
        rules = sorted(self.jobs)
        random.Random(kind).shuffle(rules)
        rules.sort(key=lambda rule: rule not in first)
        return chance.choice(self.jobs[rules[number % len(rules)]])

    def seconds(self, record: Record) -> float:
        """How long the longest job of a record's rule took."""
        path = self.finished.results / paths.COSTS / paths.job(record.rule).partition("/")[0]
        found = [*path.rglob("*.tsv"), path.with_suffix(".tsv")]
        lines = [file.read_text().splitlines()[1] for file in found if file.exists()]
        return max(float(line.split("\t")[0]) for line in lines)

    def judged(
        self, broken: Broken, said: list[Said], note: str, expected: dict[str, bytes] | None = None
    ) -> Outcome:
        """Whether the last call ended well with the same results, and whether a line was needed.

        Args:
            expected: the results, if they are others than those of the finished study.
        """
        lines = [line for each in said for line in each.lines]
        if said[-1].status:
            return Outcome("silent", f"{note}: does not come to its end: {said[-1].text[-500:]}")
        if differ := differences(expected or self.expected, contents(broken.results)):
            return Outcome("silent", f"{note}: {', '.join(differ)}; {lines}")
        if any(each.status for each in said):
            unexplained = [each for each in said if each.status and not each.lines]
            if unexplained:
                return Outcome("silent", f"{note}: no line says why: {unexplained[0].text[-500:]}")
            return Outcome("noticed", f"{note}: {lines[0]}")
        return Outcome("survived", note)


def contents(results: Path) -> dict[str, bytes]:
    """Name -> content, of the results that do not contain how long something took."""
    found = {}
    for path in sorted(results.rglob("*")):
        name = path.relative_to(results).as_posix()
        parts = set(path.parts)
        is_aside = path.name in _NO_RESULT or _TIMED.fullmatch(path.name)
        if not path.is_file() or is_aside or parts.intersection(_NOT_COMPARED):
            continue
        if "/state-" in name or ".kept/" in name:
            continue
        # What a training leaves for jobs after it, which do not run when it alone is made again.
        if path.name in _HANDED_ON or path.match(CHECKPOINT.format(identity="*")):
            continue
        if path.name == "trials.parquet":
            found[name] = repr(read_table(path).drop_columns("seconds").to_pylist()).encode()
        else:
            found[name] = path.read_bytes()
    return found


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Files that are missing, new or other ones."""
    missing = [f"{name} is missing" for name in before.keys() - after.keys()]
    new = [f"{name} is left" for name in after.keys() - before.keys()]
    other = [name for name in before.keys() & after.keys() if before[name] != after[name]]
    return [*missing, *new, *(f"{name} is another" for name in other)]


def jobs_of(call: subprocess.Popen) -> list[psutil.Process]:
    """The processes of a call's jobs."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(call.pid).children(recursive=True)
    return []


def wait_for_job(call: subprocess.Popen) -> None:
    """Wait until a call has started a job, or has ended."""
    while call.poll() is None and not jobs_of(call):
        time.sleep(0.02)


def kill(call: subprocess.Popen, what: str) -> list[psutil.Process]:
    """Kill a call with its jobs, a job alone or Snakemake alone; returns jobs that live on."""
    jobs = jobs_of(call)
    if what == "job" and jobs:
        for job in jobs:
            with contextlib.suppress(psutil.NoSuchProcess):
                job.kill()
    elif what == "Snakemake":
        call.kill()
        return jobs
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(call.pid, signal.SIGKILL)
    return []


def advised(line: str) -> list[str]:
    """The arguments of the call that an error's line names; none for the same call again."""
    found = re.search(r"snakemake --cores all (--force -- \S+)", line)
    return shlex.split(found[1]) if found else []


def advised_in_shell(line: str) -> list[str]:
    """The command of a shell that an error's line names; none if it names none."""
    found = re.search(r"after: ((sed -i|rm -r) .+)$", line)
    return shlex.split(found[1]) if found else []

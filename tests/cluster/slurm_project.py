"""A small copy of the project on a real Slurm, and what the scheduler reports about its jobs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import yaml
from dmlbench import plan
from project import copy_project, environment

STUDY = {
    "title": "A toy study",
    "question": "Does it run on a cluster?",
    "description": "Losses on toy data.",
    "runs": [
        {
            "dataset": "glyphs",
            "network": "convnet3",
            "embedding_dim": 8,
            "method": ["contrastive", "proxy_anchor"],
            "recipe": "glyphs",
            "split": "half",
            "seed": 0,
        }
    ],
    "tournament": {},
    "tables": {
        "recall": {
            "title": "Recall of a toy",
            "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]},
        },
    },
    "figures": {},
}
GROUP, METHOD = "run_embed_evaluate_train", "proxy_anchor"
"""A Slurm job of one of its runs, and of which."""
QUICK = {"epochs": 2}
SECONDS = {"epochs": 30, "iterations_per_epoch": 100}
OVER_A_MINUTE = {"epochs": 60, "iterations_per_epoch": 500}
PATIENCE = 600  # seconds to wait for an event; a loaded machine is slow


@dataclass(frozen=True)
class Job:
    """A job in Slurm's accounting."""

    id: str
    rules: str
    what: str
    state: str
    mem: str
    minutes: int
    gpus: int
    submitted: datetime


class Call:
    """A running Snakemake."""

    started: ClassVar[list["Call"]] = []

    def __init__(self, process: subprocess.Popen, log: Path):
        self.process, self.log = process, log
        self.started.append(self)

    @property
    def output(self) -> str:
        return self.log.read_text()

    def wait(self, patience: float = PATIENCE) -> int:
        """Its exit status."""
        return self.process.wait(timeout=patience)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """End the process and its jobs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for job in self.waiting():
            slurm("scancel", job)
        until("no job is left", lambda: not self.waiting())

    def jobs(self) -> list[Job]:
        """Every job that it has submitted, in order."""
        run = re.search(r"SLURM run ID: (\S+)", self.output)
        if run is None:
            return []
        # The database records a job's end a moment later than the controller's queue.
        columns = "JobIDRaw,Comment,State,ReqMem,TimelimitRaw,ReqTRES,Submit"
        lines = slurm("sacct", "-XnP", f"--name={run[1]}", f"--format={columns}%200")
        return [_job(*line.split("|")) for line in lines]

    def waiting(self) -> list[str]:
        """Its pending and running jobs."""
        run = re.search(r"SLURM run ID: (\S+)", self.output)
        return slurm("squeue", "-h", f"--name={run[1]}", "-o", "%i") if run else []


class Clone:
    """A copy of the project.

    Args:
        folder: where the copy is made.
    """

    def __init__(self, folder: Path):
        self.folder, self.calls = folder, 0
        folder.mkdir(exist_ok=True)
        copy_project(folder)
        (folder / "slurm").symlink_to("profiles/slurm")

    def describe_site(self, **values: object) -> None:
        """Fill in the site."""
        self.edit("profiles/slurm/site.yaml", lambda old: old | values)

    def snakemake(self, *arguments: str) -> Call:
        """Start Snakemake."""
        self.calls += 1
        log = self.folder / f"snakemake-{self.calls}.out"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *arguments],
                cwd=self.folder,
                env=environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # A test run in the background ignores Ctrl-C, and so would its child processes.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        return Call(process, log)

    def on_slurm(self, *arguments: str, profile: str = "profiles/slurm") -> Call:
        """Start Snakemake with the cluster's profile and short status intervals."""
        quick = ("--slurm-init-seconds-before-status-checks", "8", "--latency-wait", "10")
        return self.snakemake("--profile", profile, *quick, *arguments)

    def edit(self, name: str, change: Callable[[dict], dict]) -> None:
        """Change a YAML file."""
        path = self.folder / name
        old = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump(change(old)))


class Project(Clone):
    """A copy with one study, `toy`, on rehearsal data and with the test's account.

    Args:
        folder: where the copy is made.
        training: values of every spec in addition to the rehearsal's.
        needs: key -> replaced values of its entry in resources.yaml.
        study: replaced values of the study.
    """

    def __init__(
        self,
        folder: Path,
        training: dict | None = None,
        needs: dict | None = None,
        study: dict | None = None,
    ):
        super().__init__(folder)
        self.edit("config/studies/toy.yaml", lambda _: STUDY | (study or {}))
        rehearsal = yaml.safe_load((folder / "config" / "rehearsal.yaml").read_text())
        rehearsal["rehearsal"]["set"] |= training or {}
        rehearsal["pathvars"]["results"] = "results"
        self.edit("config/config.yaml", lambda old: old | rehearsal | {"studies": ["toy"]})
        small = {"mem_mb": 2000, "runtime": 10}
        changed = needs or {}
        self.edit(
            "config/resources.yaml",
            lambda old: {rule: old[rule] | small | changed.get(rule, {}) for rule in old},
        )
        day = {"max_runtime": "1d", "max_threads": 1}
        self.describe_site(account="ml", partitions={"cpu": day, "gpu": day | {"max_gpu": 1}})

    @cached_property
    def plan(self) -> plan.Plan:
        """The plan of its configuration, read once: who waits asks for a folder often."""
        config = self.folder / "config"
        return plan.load(yaml.safe_load((config / "config.yaml").read_text()), config)

    def path(self, method: str) -> str:
        """The path of a run."""
        rows = (row for row in self.plan.rows("toy") if row.method == method)
        return next(self.plan.run(row).folder for row in rows)

    def run(self, method: str) -> Path:
        """The folder of a run."""
        return self.folder / "results" / "runs" / self.path(method)

    def scores(self, method: str) -> str:
        """The target that trains, embeds and scores one run."""
        return f"results/runs/{self.path(method)}/scores.parquet"

    def is_training(self, method: str) -> bool:
        """Whether a run has written a checkpoint and no result yet."""
        return any(self.run(method).glob("checkpoint-*.pt"))

    def has_restarted_training(self, method: str) -> bool:
        """Whether a run's last attempt began with the first epoch."""
        log = self.folder / "results" / "logs" / "train" / f"{self.path(method)}.log"
        return "training:   0%" in log.read_text()

    def forget(self, method: str) -> None:
        """Remove the checkpoints of a run."""
        for path in self.run(method).glob("checkpoint-*.pt"):
            path.unlink()

    def prepare_data(self) -> None:
        """Draw, index, split and pack on this machine."""
        folder = f"results/data/{self.plan.data('glyphs').folder}"
        data = [f"{folder}/splits/half.parquet", f"{folder}/pixels-16-gray.npy"]
        call = self.snakemake("--cores", "2", *data)
        assert call.wait() == 0, call.output

    def take_data(self, other: "Project") -> None:
        """Copy the data that another project has prepared."""
        shutil.copytree(other.folder / "results" / "data", self.folder / "results" / "data")


def start_slurm(scripts: Path) -> subprocess.CompletedProcess[str]:
    """Start what is not running of Slurm."""
    # It asks nproc for the node's cores, which is what OMP_NUM_THREADS says.
    variables = {name: each for name, each in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [scripts / "start-slurm.sh"]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def slurm(*command: str) -> list[str]:
    """The output lines of a Slurm command."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def until(what: str, holds: Callable[[], object]) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: it does not in PATIENCE seconds.
    """
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"waited {PATIENCE} s until {what}"
        time.sleep(0.2)


def _job(
    id_: str, comment: str, state: str, mem: str, minutes: str, tres: str, submitted: str
) -> Job:
    gpus = re.search(r"gres/gpu=(\d+)", tres)
    rules, _, what = comment.removeprefix("rule_").partition("_wildcards_")
    at = datetime.fromisoformat(submitted)
    count = int(gpus[1]) if gpus else 0
    return Job(id_, rules, what, state.split()[0], mem, int(minutes), count, at)

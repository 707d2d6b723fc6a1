"""The time that Snakemake, here and through Slurm, adds to an empty job."""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from limited import SNAKEMAKE, call

JOBS = {"one core": 200, "Slurm": 20}
EMPTY_JOBS = """
rule all:
    localrule: True
    input: [f"jobs/{number}" for number in range(config["jobs"])]
rule job:
    output: touch("jobs/{number}")
    script: "empty.py"
"""


def schedule_jobs(account: str | None) -> list[dict]:
    """The time that Snakemake, and Slurm if an account is given, add to each job."""
    places = {"one core": ["--cores", "1"]}
    if account:
        places["Slurm"] = _on_slurm(account)
    rows = []
    for where, options in places.items():
        with tempfile.TemporaryDirectory() as name:
            folder, jobs = Path(name), JOBS[where]
            (folder / "Snakefile").write_text(EMPTY_JOBS)
            (folder / "empty.py").write_text("")
            command = [*SNAKEMAKE, "--quiet", "all", "--config", f"jobs={jobs}"]
            start = call([*command, "--dry-run"], folder)
            spent = call([*command, *options], folder)
            row = {"where": where, "jobs": jobs}
            row["seconds_a_job"] = (spent.seconds - start.seconds) / jobs
            row["cpu_seconds_a_job"] = (spent.cpu_seconds - start.cpu_seconds) / jobs
            if where == "Slurm":
                row["seconds_in_a_job"] = _seconds_in_jobs(folder)
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    return rows


def _on_slurm(account: str) -> list[str]:
    needs = [f"slurm_account={account}", "mem_mb=500", "runtime=5"]
    return [
        *("--executor", "slurm", "--jobs", "100", "--latency-wait", "10"),
        *("--default-resources", *needs, "--slurm-status-command", "squeue"),
        *("--slurm-init-seconds-before-status-checks", "10"),
        *("--slurm-keep-successful-logs", "--slurm-logdir", "logs"),
    ]


def _seconds_in_jobs(folder: Path) -> float:
    """Median Slurm time of the jobs whose logs are in a folder."""
    ids = ",".join(log.stem for log in folder.glob("logs/**/*.log"))
    lines = subprocess.run(
        ["sacct", "-XnP", f"--jobs={ids}", "--format=ElapsedRaw"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return statistics.median(map(int, lines))

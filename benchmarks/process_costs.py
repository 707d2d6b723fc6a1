"""What each process of a Snakemake call used, as it says itself when it ends."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from limited import MB, SNAKEMAKE

_SAYS = """
import atexit, json, os, re, resource, sys


def say():
    used = resource.getrusage(resource.RUSAGE_SELF)
    (peak,) = re.findall(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
    said = {"cpu_seconds": used.ru_utime + used.ru_stime, "peak_kb": int(peak)}
    with open(os.environ["SAYS"], "a") as file:
        file.write(json.dumps({"script": sys.argv[0], **said}) + "\\n")


atexit.register(say)
"""
"""A `sitecustomize` module."""

_SCRIPT = re.compile(r".*/scripts/tmp\w+\.(\w+)\.py")


class Used(NamedTuple):
    """A process.

    Attributes:
        script: the name of a rule's script; empty for Snakemake itself.
        cpu_seconds: of all of its threads.
        peak_mb: the most memory that it held.
    """

    script: str
    cpu_seconds: float
    peak_mb: float


def make(folder: Path, targets: Sequence[str], cores: int) -> list[Used]:
    """Let Snakemake make files of the project in `folder`; what each process used, as they end."""
    command = [*SNAKEMAKE, "--quiet", "all", "--cores", str(cores), "--", *targets]
    with tempfile.TemporaryDirectory() as name:
        said = Path(name) / "said.jsonl"
        (Path(name) / "sitecustomize.py").write_text(_SAYS)
        environment = os.environ | {"SAYS": str(said), "PYTHONPATH": name}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            shown = " ".join(map(str, [*command[:8], "..."]))
            sys.exit(f"{shown}: status {done.returncode}\n{done.stderr[-2000:]}")
        rows = [json.loads(line) for line in said.read_text().splitlines()]
    return [
        Used(
            found[1] if (found := _SCRIPT.fullmatch(row["script"])) else "",
            row["cpu_seconds"],
            row["peak_kb"] * 1024 / MB,
        )
        for row in rows
    ]

"""What numbers are measured on: every benchmark's file says it."""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

# What products of matrices depend on, as Linux names it.
INSTRUCTIONS = (
    *("avx2", "fma", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16"),
    *("amx_tile", "amx_int8", "amx_bf16"),
)


def machine(packages: Sequence[str]) -> dict:
    """Processor, instruction set, cores, load of the last minute, Python, packages, and commit.

    The commit ends in -dirty where the code that ran is in none.
    """
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "cpu": _cpuinfo("model name") or platform.processor(),
        "instructions": [flag for flag in INSTRUCTIONS if flag in _cpuinfo("flags").split()],
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "commit": commit.stdout.strip() or None,
    }


def slug() -> str:
    """The processor in a file's name, as `intel-xeon-processor-2-50ghz`."""
    name = re.sub(r"\((r|tm)\)", "", (_cpuinfo("model name") or platform.processor()).lower())
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")


def _cpuinfo(field: str) -> str:
    """The first processor's value of a field of /proc/cpuinfo; empty where there is none."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(field)), "")

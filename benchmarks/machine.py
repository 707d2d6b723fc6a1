"""The machine of measurements, for every benchmark's file; and peak memory."""

import importlib.metadata
import json
import os
import platform
import re
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))

from dmlbench.digits import limits
from dmlbench.files import atomic_write
from dmlbench.machine import commit, instructions, processor


def machine(packages: Sequence[str]) -> dict:
    """Processor, instructions and their limits, cores, last minute's load, versions, commit."""
    return {
        "cpu": processor(),
        "instructions": instructions().split(),
        "limits": limits(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "commit": commit() or None,
    }


def write_report(path: Path, report: dict) -> None:
    """Write what was measured as JSON."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(json.dumps(report, indent=1) + "\n")


def slug(name: str = "") -> str:
    """A device, else the processor, in a file's name: `intel-xeon-processor-2-50ghz`."""
    name = re.sub(r"\((r|tm)\)", "", (name or processor()).lower())
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-")


def peak_memory() -> int:
    """Peak memory of this process since its program began, in bytes.

    Linux passes `ru_maxrss` from a parent to its children, even through exec: a child of a large
    process would look as large.
    """
    if sys.platform == "linux":
        (line,) = re.findall(
            r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8")
        )
        return int(line) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

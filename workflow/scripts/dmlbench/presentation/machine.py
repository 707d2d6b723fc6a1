"""Where a report was made: machine and software, without importing what is heavy."""

import os
import platform
from importlib import metadata
from pathlib import Path

_SHOWN = ("torch", "torchvision", "numpy", "pandas", "scikit-learn", "matplotlib", "snakemake")


def machine() -> str:
    """Operating system, processor, usable cores and memory of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{platform.system()} {platform.machine()}", _processor(), f"{cores} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB of memory")
    return ", ".join(filter(None, parts))


def software() -> str:
    """Python and the versions of the installed packages that results depend on."""
    versions = [f"Python {platform.python_version()}"]
    installed = {found.metadata["Name"]: found.version for found in metadata.distributions()}
    versions += [f"{name} {installed[name]}" for name in _SHOWN if name in installed]
    return ", ".join(versions)


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if not facts.is_file():
        return platform.processor()
    lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()

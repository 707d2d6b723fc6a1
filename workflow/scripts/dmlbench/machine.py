"""Machine, software, lock and commit that results come from, without heavy imports."""

import contextlib
import hashlib
import os
import platform
import subprocess
from collections.abc import Collection
from importlib import metadata
from pathlib import Path

PROVENANCE = b"provenance"
"""Metadata key of a history: what its training ran on."""

_LOCK = Path(__file__).resolve().parents[3] / "requirements.lock"
_SHOWN = ("torch", "torchvision", "numpy", "pandas", "scikit-learn", "matplotlib", "snakemake")
_INSTRUCTIONS = ("avx2", "fma", "avx512f", "avx_vnni", "avx512_vnni", "avx512_bf16")
_INSTRUCTIONS += ("amx_tile", "amx_int8", "amx_bf16")


def machine() -> str:
    """Operating system, processor, usable cores and memory of this machine."""
    parts = [f"{platform.system()} {platform.machine()}", processor(), f"{usable_cores()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB of memory")
    return ", ".join(filter(None, parts))


def usable_cores() -> int:
    """The cores of this machine that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """The name of this machine's processor."""
    return _cpuinfo("model name") or platform.processor()


def vendor() -> str:
    """The maker of this processor, as Linux names it; empty where it is unknown."""
    return _cpuinfo("vendor_id")


def instructions() -> str:
    """The processor's instruction sets that matrix products depend on, as Linux names them."""
    there = _cpuinfo("flags").split()
    return " ".join(flag for flag in _INSTRUCTIONS if flag in there)


def openblas_kernels(vendor: str, instructions: Collection[str]) -> str | None:
    """OpenBLAS's name of the kernels for such a CPU; None to let it choose.

    Args:
        vendor: as `vendor` gives it.
        instructions: of those that `instructions` names.
    """
    if "avx2" not in instructions:
        return None
    if vendor == "AuthenticAMD":
        return "Zen"
    if vendor == "GenuineIntel":
        return "SkylakeX" if "avx512f" in instructions else "Haswell"
    return None


def software() -> str:
    """Python and the versions of the installed packages that results depend on."""
    versions = [f"Python {platform.python_version()}"]
    for name in _SHOWN:
        # By name: listing all installed packages takes a tenth of a second.
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    return ", ".join(versions)


def commit() -> str:
    """The commit of this code, plus -dirty if the code differs from it; empty if unknown."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
        )
    except OSError:
        return ""
    return described.stdout.strip()


def lock() -> str:
    """The digest of the lock file next to this code; empty if there is none."""
    if not _LOCK.is_file():
        return ""
    return hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:12]


def _cpuinfo(field: str) -> str:
    """The first processor's value of a field of /proc/cpuinfo; empty if there is none."""
    facts = Path("/proc/cpuinfo")
    if not facts.is_file():
        return ""
    lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")

"""Leases of GPUs for the jobs of one machine: a GPU's slot belongs to one process at a time.

Snakemake counts GPUs but does not assign them. Here a lease is a lock (flock) on a file in the
machine's temporary folder; the kernel frees it when the process ends, no matter how. All jobs of a
user share the leases, whatever results they write. The files stay empty, and their existence means
nothing.
"""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dmlbench import locks
from dmlbench.errors import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
PRETENDED = "DMLBENCH_GPUS"
RUNS_PER_GPU = "DMLBENCH_RUNS_PER_GPU"
"""Set within a lease, and so in the processes that it starts."""
PAUSE = 1.0
"""Seconds between two attempts to find a free slot."""

_NO_DEVICE = ("", "-1", "NoDevFiles")


@contextlib.contextmanager
def gpu_lease(device: str, runs_per_gpu: int = 1, count: int = 1) -> Iterator[str | None]:
    """Hold a slot on the least loaded GPU, and make it the only one visible to this process.

    Enter it before anything initializes CUDA; importing torch does not. Waits while all slots are
    taken. If CUDA_VISIBLE_DEVICES is already set, as by Slurm, only those GPUs count.

    Args:
        device: `auto`, `cpu` or `cuda`; `cpu` takes no lease.
        runs_per_gpu: slots per GPU.
        count: of GPUs to hold, each with a slot; all of them are taken at once.

    Yields:
        The names of the GPUs for CUDA_VISIBLE_DEVICES; None without a lease: no GPU exists or is
        requested.

    Raises:
        UserError: the folder of the locks belongs to someone else, or there are fewer GPUs.
    """
    gpus = {} if device == "cpu" else visible_gpus()
    if not gpus:
        yield None
        return
    if count > len(gpus):
        raise UserError(
            f"gpus: {count}; allowed: up to {len(gpus)}, the GPUs that are visible here"
        )
    slots, names = _wait_for_slots(_lock_folder(), gpus, runs_per_gpu, count)
    name = ",".join(names)
    leased = {VISIBLE: name, RUNS_PER_GPU: str(runs_per_gpu)}
    before = {key: os.environ.get(key) for key in leased}
    os.environ.update(leased)
    try:
        yield name
    finally:
        for slot in slots:
            os.close(slot)
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def share_of_a_gpu() -> float:
    """The share of a leased GPU that belongs to this process; 1 without a lease."""
    return 1 / int(os.environ.get(RUNS_PER_GPU, 1))


def visible_gpus() -> dict[str, str]:
    """The GPUs that this process may use: UUID -> CUDA's name for it here.

    DMLBENCH_GPUS (names separated by commas) replaces the list of nvidia-smi where that does not
    work, and in tests. A GPU that neither lists is identified by its number.
    """
    installed = _installed_gpus()
    allowed = os.environ.get(VISIBLE)
    if allowed is None:
        return {uuid: uuid for uuid in installed}
    names = (name.strip() for name in allowed.split(","))
    # Like CUDA, stop at the first name that is not a device.
    known = itertools.takewhile(lambda name: name not in _NO_DEVICE, names)
    return {_uuid(name, installed): name for name in known}


def _installed_gpus() -> list[str]:
    pretended = os.environ.get(PRETENDED)
    if pretended is not None:
        return [name for name in pretended.split(",") if name]
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.split()


def _uuid(name: str, installed: list[str]) -> str:
    """The UUID of a number: it means the same GPU in every container and Slurm job."""
    if name in installed:
        return name
    if name.isdecimal() and int(name) < len(installed):
        return installed[int(name)]
    return next((uuid for uuid in installed if uuid.startswith(name)), name)


def _lock_folder() -> Path:
    """A folder of this user on this machine; the host name keeps shared folders apart."""
    name = f"dmlbench-gpus-{os.getuid()}-{socket.gethostname()}"
    folder = Path(tempfile.gettempdir()) / name
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to another user; remove it, or set TMPDIR to a folder")
    return folder


def _wait_for_slots(
    folder: Path, gpus: dict[str, str], runs_per_gpu: int, count: int
) -> tuple[list[int], list[str]]:
    waited = False
    while True:
        # One process at a time: looking for a slot takes every free slot for a moment.
        with locks.held(folder / "mutex"):
            slots = _least_loaded(folder, list(gpus), runs_per_gpu, count)
        if slots:
            return list(slots.values()), [gpus[uuid] for uuid in slots]
        if not waited:
            taken = f"{len(gpus)} x {runs_per_gpu} slots on {', '.join(gpus.values())}"
            print(f"waiting for a GPU: all taken of {taken}", file=sys.stderr)
            waited = True
        time.sleep(PAUSE)


def _least_loaded(folder: Path, gpus: list[str], runs_per_gpu: int, count: int) -> dict[str, int]:
    """A slot of each of the GPUs with the fewest taken slots, the first of equal ones.

    Empty if fewer than `count` have one.
    """
    free, load = {}, {}
    for gpu in gpus:
        # Slots beyond our own number belong to jobs that put more runs on a GPU.
        stem = gpu.replace("/", "_")
        there = max(runs_per_gpu, len(list(folder.glob(f"{stem}.*"))))
        slots = [locks.try_acquire(folder / f"{stem}.{number}") for number in range(there)]
        free[gpu] = [slot for slot in slots if slot is not None]
        load[gpu] = there - len(free[gpu])
    best = [gpu for gpu in sorted(gpus, key=load.__getitem__) if load[gpu] < runs_per_gpu]
    chosen = {gpu: free[gpu].pop() for gpu in best[:count]} if len(best) >= count else {}
    for slot in (slot for slots in free.values() for slot in slots):
        os.close(slot)
    return chosen

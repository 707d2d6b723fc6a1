"""Leases of GPUs for the jobs of one machine: a GPU's slot belongs to one process at a time.

Snakemake counts GPUs but does not assign them. Here a lease is a lock (flock) on a file in a folder
of the machine; the kernel frees it when the process ends, no matter how. All jobs of a user share
the leases, whatever results they write. The files stay empty, and their existence means nothing.
"""

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from dmlbench import locks
from dmlbench.errors import UserError
from dmlbench.training.visible_gpus import VISIBLE, visible_gpus

RUNS_PER_GPU = "DMLBENCH_RUNS_PER_GPU"
"""Set within a lease, and so in the processes that it starts."""
PAUSE = 1.0
"""Seconds between two attempts to find a free slot."""

LEASES = Path("/tmp")  # noqa: S108 (its owner is checked)
"""Where a user's leases are: not where TMPDIR says, which may be another folder for each job."""


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
        UserError: the folder of the locks belongs to someone else, there are fewer GPUs, or
            CUDA_VISIBLE_DEVICES begins with a name that is no GPU here.
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


def _lock_folder() -> Path:
    """A folder of this user on this machine; the host name keeps shared folders apart."""
    name = f"dmlbench-gpus-{os.getuid()}-{socket.gethostname()}"
    folder = LEASES / name
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise UserError(f"{folder}: belongs to another user; allowed: a folder of yours, or none")
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

"""One call of Snakemake at a time in a results folder."""

import os
import socket
from pathlib import Path

from dmlbench import locks
from dmlbench.errors import UserError

FILE = ".claimed"
"""Name of the file in a results folder that the call at work there holds locked."""


def claim(folder: str | os.PathLike) -> None:
    """Keep other calls of Snakemake out of a folder until this process ends, no matter how.

    Raises:
        UserError: another call is using it.
    """
    path = Path(folder, FILE)
    try:
        # Never closed: the kernel frees the lock with the process.
        descriptor = locks.try_acquire(path)
    except OSError:
        # Some network file systems have no locks; there the user must take care.
        return
    if descriptor is None:
        raise UserError(
            f"{folder}: {path.read_text()} is at work here; wait for it, or use another folder: "
            "--config 'pathvars={results: ...}'"
        )
    os.truncate(descriptor, 0)
    os.write(descriptor, f"snakemake (process {os.getpid()} on {socket.gethostname()})".encode())


def claimed_by(folder: str | os.PathLike) -> str | None:
    """The call of Snakemake that is using a folder; None if there is none or locks do not work."""
    path = Path(folder, FILE)
    try:
        return path.read_text() if locks.is_held(path) else None
    except OSError:
        return None

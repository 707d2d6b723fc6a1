"""One call of Snakemake at a time in a results folder."""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from dmlbench import locks
from dmlbench.errors import UserError
from dmlbench.shared_files import open_regular, printable, read_shared

FILE = ".claimed"
"""Name of the file in a results folder that the call at work there holds locked."""

JOBS = ".jobs"
"""Name of the file in a results folder that all jobs at work there share a lock of."""


def claim(folder: str | os.PathLike) -> None:
    """Keep other calls of Snakemake out of a folder until this process ends, no matter how.

    Raises:
        UserError: another call is using it, or jobs of a call that was killed are; or whether one
            is cannot be determined, because another user's file cannot be opened.
    """
    path = Path(folder, FILE)
    try:
        # Never closed: the kernel frees the lock with the process.
        descriptor = locks.try_acquire(path)
    except PermissionError:
        raise _of_another_user(path) from None
    except OSError:
        # Some network file systems have no locks; there the user must take care.
        return
    if descriptor is None:
        raise _at_work(folder, _who(path))
    try:
        _check_jobs(Path(folder, JOBS))
    except UserError:
        os.close(descriptor)
        raise
    # Of a file with a second name, the content is another's as well.
    if os.fstat(descriptor).st_nlink == 1:
        os.truncate(descriptor, 0)
        who = f"snakemake (process {os.getpid()} on {socket.gethostname()})"
        os.write(descriptor, who.encode())


def claimed_by(folder: str | os.PathLike) -> str | None:
    """The call of Snakemake that is using a folder; None if there is none or locks do not work."""
    path = Path(folder, FILE)
    try:
        return _who(path) if locks.is_held(path) else None
    except PermissionError:
        return "perhaps another user"
    except OSError:
        return None


@contextlib.contextmanager
def at_work(folder: str | os.PathLike) -> Iterator[None]:
    """Count this process as a job at work in a folder while the block runs.

    A job outlives a call that is killed; the next call then finds it at work.
    """
    with contextlib.ExitStack() as stack:
        # Without locks, or in a folder that cannot be written to, nothing can be counted.
        with contextlib.suppress(OSError):
            descriptor = open_regular(Path(folder, JOBS), os.O_RDONLY | os.O_CREAT)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


def _check_jobs(path: Path) -> None:
    try:
        descriptor = locks.try_acquire(path)
    except OSError:
        return
    if descriptor is None:
        who = ", ".join(f"process {pid}" for pid in _holders(path))
        raise _at_work(path.parent, f"a job of a call that was killed{who and f' ({who})'}")
    os.close(descriptor)


def _who(path: Path) -> str:
    """The call that has claimed a folder, as it says itself."""
    return printable(read_shared(path))


def _at_work(folder: str | os.PathLike, who: str) -> UserError:
    return UserError(
        f"{folder}: {who} is at work here; wait for it, or use another folder: "
        "--config 'pathvars={results: ...}'"
    )


def _of_another_user(path: Path) -> UserError:
    try:
        if locks.is_held(path):
            return _at_work(path.parent, _who(path))
    except FileNotFoundError:
        return UserError(
            f"{path.parent}: this user cannot write to it; let its owner allow it, or use another "
            "folder: --config 'pathvars={results: ...}'"
        )
    except OSError:
        pass
    return UserError(
        f"{path}: is another user's and cannot be written to, so this folder cannot be claimed; "
        "its owner can remove it while no call is at work, or use another folder: "
        "--config 'pathvars={results: ...}'"
    )


def _holders(path: Path) -> list[int]:
    """The processes of this machine that hold a lock of a file, as Linux lists them."""
    inode = str(path.stat().st_ino)
    with contextlib.suppress(OSError):
        entries = [
            line.split() for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines()
        ]
        return sorted({int(each[4]) for each in entries if each[5].rpartition(":")[2] == inode})
    return []

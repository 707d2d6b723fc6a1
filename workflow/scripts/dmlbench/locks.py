"""Locks between processes, on files: the kernel frees them when their holder ends, no matter how.

A lock is held by an open file descriptor (flock) and freed by closing it. The files remain and
their content means nothing: only the kernel knows who holds a lock.

The package filelock is not used: it waits by polling, and on a file system without flock it falls
back to files that outlive a killed holder. Here such a file system raises an `OSError`.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from dmlbench.shared_files import open_regular


def acquire(path: Path) -> int:
    """Wait for a lock and take it; returns the descriptor that holds it."""
    return _locked(path, fcntl.LOCK_EX)


def try_acquire(path: Path) -> int | None:
    """Take a lock; returns the descriptor that holds it, or None if another process does."""
    try:
        return _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file; read-only, needs no write permission."""
    descriptor = open_regular(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Wait for a lock, then hold it while the block runs."""
    descriptor = acquire(path)
    try:
        yield
    finally:
        os.close(descriptor)


def wait_until_free(path: Path) -> None:
    """Wait until no other process holds a lock."""
    os.close(acquire(path))


def _locked(path: Path, operation: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
        named = False
        try:
            fcntl.flock(descriptor, operation)
            # A cleaner of temporary files may have removed the file since it was opened; the next
            # process would then lock another file of the same name.
            named = _is_named(path, descriptor)
        finally:
            if not named:
                os.close(descriptor)
        if named:
            return descriptor


def _is_named(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

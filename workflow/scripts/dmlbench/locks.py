"""Locks between processes, on files: the kernel frees them when their holder ends, however it ends.

A lock is held by an open file descriptor (flock) and freed by closing it. The files stay where they
are and say nothing: only the kernel knows who holds a lock.

The package filelock would not do: it waits by looking again and again, and on a file system without
flock it turns to files that outlive a killed holder. Here such a file system is an `OSError`.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def acquire(path: Path) -> int:
    """Take a lock, after waiting until it is free; returns the descriptor that holds it."""
    return _locked(path, fcntl.LOCK_EX)


def try_acquire(path: Path) -> int | None:
    """Take a lock; returns the descriptor that holds it, or None where another process does."""
    try:
        return _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file; only looks, and needs no right to write."""
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs, after waiting until it is free."""
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
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        named = False
        try:
            fcntl.flock(descriptor, operation)
            # A cleaner of temporary files may have removed the file since it was opened; who comes
            # next would then lock another one of the same name.
            named = _is_named(path, descriptor)
        finally:
            if not named:
                os.close(descriptor)
        if named:
            return descriptor


def _is_named(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

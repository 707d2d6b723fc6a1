"""Locks that the kernel frees when their holder dies, however it dies."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


def take(path: Path) -> int | None:
    """Take a lock; returns what holds it (to be closed), or none where another process has it."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock, after waiting until it is free."""
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def wait_for(path: Path) -> None:
    """Wait until nobody holds a lock."""
    with held(path):
        pass


def _opened(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

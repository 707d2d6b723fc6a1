"""Files appear complete or not at all."""

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dmlbench import locks
from dmlbench.errors import DamagedError, UserError

_FULL = "the disk is full; free some space and run again"
_OPEN = "too many files are open; raise `ulimit -n`, and run again"
_LIMITS = {
    **{errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EMFILE: _OPEN, errno.ENFILE: _OPEN},
    errno.EFBIG: "is larger than files may be; raise `ulimit -f`, and run again",
    errno.ENOMEM: "memory is used up; run fewer jobs at once",
}
"""Errors of the system that say nothing about a file's content -> what a message says."""


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike) -> Iterator[Path]:
    """A path to write to; it becomes `path` if the block succeeds, otherwise nothing is left.

    The data reach the disk before the name does, so a crash leaves the old file or the new one.
    Partial files of killed processes are removed by the next writer of the same file.

    Raises:
        UserError: the disk, or the user's share of it, is full, or another limit is reached.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.unfinished")
    with limits_are_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent, glob.escape(path.name))
        try:
            with _marked_as_alive(unfinished):
                yield unfinished
                _to_disk(unfinished)
                os.replace(unfinished, path)
                _to_disk(path.parent)
        finally:
            unfinished.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a file of text as `atomic_write` does."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def write_csv(path: str | os.PathLike, frame: Any, **options: Any) -> None:
    """Write a frame of pandas without its index, as `atomic_write` does.

    Args:
        options: as `to_csv` of the frame takes them.
    """
    with atomic_write(path) as unfinished:
        frame.to_csv(unfinished, index=False, lineterminator="\n", **options)


def remove_abandoned(folder: Path, name: str) -> None:
    """Remove partial files left by dead processes, for file names that match a pattern."""
    for unfinished in folder.glob(f".{name}.*.unfinished"):
        # Where locks do not work this cannot be determined, so the file is kept.
        with contextlib.suppress(OSError, UserError):
            if not locks.is_held(unfinished):
                unfinished.unlink()


@contextlib.contextmanager
def _marked_as_alive(unfinished: Path) -> Iterator[None]:
    """Hold a lock on a file while writing it; the kernel frees it when the process dies."""
    with open(unfinished, "wb") as file:
        # Some network file systems have no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _to_disk(path: Path) -> None:
    """Wait until a file's data, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def limits_are_named(path: str | os.PathLike) -> Iterator[None]:
    """Turn the error of a full disk, a quota or another limit into one line that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in _LIMITS:
            raise
        raise UserError(f"{path}: {_LIMITS[error.errno]}") from error


@contextlib.contextmanager
def damage_is_named(path: str | os.PathLike, *errors: type[Exception]) -> Iterator[None]:
    """Turn a reader's error on a truncated file into one line that names the file.

    Args:
        errors: what the reader raises, in addition to OSError, EOFError and ValueError.

    Raises:
        DamagedError: the file is there but cannot be read.
        UserError: a limit of the system keeps it from being read.
    """
    with limits_are_named(path):
        try:
            yield
        except (FileNotFoundError, PermissionError):
            raise
        except (OSError, EOFError, ValueError, *errors) as error:
            if getattr(error, "errno", None) in _LIMITS:
                raise
            raise DamagedError(path, error) from error


def digest(path: str | os.PathLike, kind: str = "sha256") -> str:
    """Hexadecimal digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()

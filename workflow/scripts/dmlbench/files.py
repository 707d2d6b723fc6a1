"""Files appear whole or not at all."""

import contextlib
import errno
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextlib.contextmanager
def whole(path: str | os.PathLike) -> Iterator[Path]:
    """A path to write to; it becomes `path` when the block ends well, else nothing is left.

    The data reach the disk before the name does, so a crash leaves the old file or the new one.

    Raises:
        UserError: the disk, or the user's share of it, is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.unfinished")
    try:
        with full_disk_is_a_user_error(path):
            yield unfinished
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def full_disk_is_a_user_error(path: str | os.PathLike) -> Iterator[None]:
    """Turn the error of a full disk or quota into one line that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise UserError(f"{path}: the disk is full; free some space and run again") from error


def digest(path: str | os.PathLike, kind: str = "sha256") -> str:
    """Hexadecimal digest of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()

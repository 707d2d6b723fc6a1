"""Files of this room: whole or not at all, with a plain word when the disk is full."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.files import whole

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextlib.contextmanager
def full_disk_is_a_user_error(path: Path) -> Iterator[None]:
    """Turn the error of a full disk or quota into one line that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise UserError(f"{path}: the disk is full; free some space and run again") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A path to write to, as `dmlbench.files.whole`; a full disk is a UserError."""
    with full_disk_is_a_user_error(path), whole(path) as unfinished:
        yield unfinished

"""Files in a folder that several users share: another one may have put a link or a pipe there."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO

from dmlbench.errors import UserError

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What a terminal may follow instead of showing it."""


def open_regular(path: str | os.PathLike, flags: int) -> int:
    """Open a file of a folder that several users share; returns its descriptor.

    A link may be there to have a file outside of the folder written to, and a pipe to have its
    reader wait for ever.

    Args:
        flags: of `os.open`. A new file can be written to by whoever may write to the folder.

    Raises:
        UserError: it is a link or no plain file.
        OSError: as `os.open`.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _not_regular(path) from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    if flags & os.O_CREAT and status.st_uid == os.geteuid() and status.st_nlink == 1:
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, os.stat(os.path.dirname(path) or ".").st_mode & 0o666)
    return descriptor


@contextlib.contextmanager
def shared_file(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to which the users of a folder append, created if it does not exist.

    Raises:
        UserError: as `open_regular`; or this user cannot write to it.
    """
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    except PermissionError:
        raise UserError(
            f"{path}: this user cannot write to it; its owner can allow it: "
            f"chmod -R g+rwX {os.path.dirname(path)}"
        ) from None
    with open(descriptor, "r+b") as file:
        yield file


def rewrite(path: str | os.PathLike, text: str) -> None:
    """Replace the content of a file that the users of a folder share; errors as `shared_file`."""
    with shared_file(path) as file:
        file.truncate(0)
        file.write(text.encode())


def read_shared(path: str | os.PathLike) -> str:
    """The content of a file that the users of a folder share; errors as `open_regular`."""
    with open(open_regular(path, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
        return file.read()


def regular_status(path: str | os.PathLike) -> os.stat_result:
    """The status of a file that can be read to its end; an OSError for pipes, devices, folders."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))
    return status


def read_plain(path: str | os.PathLike) -> bytes:
    """The content of a file in a folder that may be a stranger's; errors as `regular_status`."""
    regular_status(path)
    with open(path, "rb") as file:
        return file.read()


def printable(text: str) -> str:
    """A line of a file that may be a stranger's, without what a terminal would follow."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def end_of_last_line(file: BinaryIO) -> int:
    """Bytes up to and including the last newline: a killed writer leaves a part of a line."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if end == 0 or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1


def _not_regular(path: str | os.PathLike) -> UserError:
    return UserError(f"{path}: a link, or no plain file; remove it, and run again")

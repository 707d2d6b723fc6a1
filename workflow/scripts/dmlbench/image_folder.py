"""One walk of a user's folder of images: identity, index and account all follow it."""

import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from dmlbench import registry
from dmlbench.errors import UserError, located

_READ_LATER = (".jpe", ".jfif")
_TIFF = (".tif", ".tiff")
IMAGE_SUFFIXES = (".jpg", ".jpeg", *_READ_LATER, ".png", ".bmp", ".gif", *_TIFF, ".webp")

_OF_SYSTEMS = {
    "@eadir",
    "@recycle",
    "@recently-snapshot",
    "#recycle",
    "$recycle.bin",
    "system volume information",
    "lost+found",
    "__macosx",
}
"""Folders of thumbnails, deleted files and the like, made by NAS and desktop systems."""


class AbsentError(UserError):
    """A folder, or what a link in it points to, is not there: perhaps a disk is not plugged in."""


class Walk(NamedTuple):
    """What is in a folder; names are relative to it.

    Attributes:
        files: the regular files; hidden ones and folders of systems are not among them. Ordered as
            their folders and names are.
        left_out: what is not used, and why; a folder's name ends in a slash.
        in_linked_folders: the files that are reached by a link to a folder.
        links: number of files and folders that are links.
    """

    files: dict[str, os.stat_result]
    left_out: dict[str, str]
    in_linked_folders: set[str]
    links: int


def walk(root: Path) -> Walk:
    """The files below a folder; links to files and folders are followed, wherever they lead.

    Raises:
        AbsentError: the folder, or the target of a link to an image or a folder, is not there.
        UserError: a folder that cannot be read, an image whose name is not UTF-8.
    """
    files, left_out, linked, links = {}, {}, set(), 0
    try:
        waiting = [("", (_place(root.stat()),), False)]
        while waiting:
            below, above, by_link = waiting.pop()
            with os.scandir(root / below) as entries:
                for entry in entries:
                    name = below + entry.name
                    status = None if _of_a_system(entry.name) else _status(root, name, entry)
                    if status is None:
                        left_out[name] = _of_a_system(entry.name) or "a link to nothing"
                        continue
                    links += entry.is_symlink()
                    if stat.S_ISREG(status.st_mode):
                        files[name] = status
                        if by_link:
                            linked.add(name)
                    elif not stat.S_ISDIR(status.st_mode):
                        left_out[name] = "a pipe, socket or device"
                    elif _place(status) in above:
                        left_out[f"{name}/"] = "a link to a folder that it is in"
                    else:
                        inside = (*above, _place(status))
                        waiting.append((f"{name}/", inside, by_link or entry.is_symlink()))
    except OSError as error:
        kind = AbsentError if error.errno in (errno.ENOENT, errno.ENOTDIR) else UserError
        raise kind(
            f"{error.filename or root}: {error.strerror}; allowed: a folder or an archive"
        ) from None
    for name in files:
        if is_image(name):
            with located(str(root)):
                require_utf_8(name)
    ordered = sorted(files, key=lambda name: name.split("/"))
    return Walk({name: files[name] for name in ordered}, left_out, linked, links)


def is_image(name: str) -> bool:
    """Whether a file is one of the images of a data set, by its name."""
    return why_left_out(name) is None


def why_left_out(name: str) -> str | None:
    """Why a file is not one of the images of a data set, by its name; None if it is one."""
    pure = PurePosixPath(name)
    if reason := next(filter(None, map(_of_a_system, pure.parts)), None):
        return reason
    if name.lower().endswith(IMAGE_SUFFIXES):
        return None
    return f"not an image ({pure.suffix.lower() or 'no suffix'})"


def lists_of(layout: str, options: Mapping[str, Any]) -> str | None:
    """Which files count besides the images: '*' for all, a file's name, or None for no other.

    Args:
        layout: a file of `data/layouts`.
        options: all of its options.
    """
    if not registry.constant("data/layouts", layout, "IMAGES_ONLY"):
        return "*"
    return options.get("file")


def counts(name: str, lists: str | None) -> bool:
    """Whether a file is part of a data set's identity; `lists` as `lists_of` gives it."""
    return is_image(name) or lists in ("*", name, PurePosixPath(name).name)


def matrix_next_to(path: Path, lists: str | None) -> Path | None:
    """The matrix of vectors that a list is about, in another file; None for any other data.

    Args:
        path: of a data set: a folder, an archive, or a list of vectors.
        lists: as `lists_of` gives it: of a list of vectors, the matrix.
    """
    is_list = lists and path.suffix in (".csv", ".parquet", ".tsv") and not path.is_dir()
    return path.parent / lists if is_list else None


def identity(contents: Mapping[str, str]) -> str:
    """Identity of a data set: sixteen hexadecimal digits for name -> content of its files."""
    listed = json.dumps([[name, content] for name, content in sorted(contents.items())])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]


def mark(name: str, file: Path | IO[bytes], *, linked: bool = False) -> str:
    """'+' for an image that earlier versions left out or turned wrongly, otherwise ''.

    It is a part of the image's content, so that what is now made of it gets a name of its own.
    """
    if linked or name.lower().endswith(_READ_LATER):
        return "+"
    return "+" if name.lower().endswith(_TIFF) and _is_turned(file) else ""


def mark_of_archive(members: Iterable[str]) -> str:
    """As `mark`, for an archive: '+' if earlier versions may have read a member otherwise."""
    return "+" if any(_may_be_marked(member) for member in members) else ""


def readable(name: str) -> str:
    """A file name as text that can be printed: bytes that are not UTF-8 become escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def require_utf_8(name: str) -> None:
    """A UserError for a name that cannot be written into a file of text."""
    shown = readable(name)
    if shown == name:
        return
    if os.fsencode(name) == shown.encode():
        encoding = sys.getfilesystemencoding()
        raise UserError(f"the name '{shown}' is read as {encoding} here; set PYTHONUTF8=1")
    raise UserError(f"the name '{shown}' is not UTF-8; rename it")


def _may_be_marked(member: str) -> bool:
    parts = [part.lower() for part in PurePosixPath(member).parts]
    of_system = any(part in _OF_SYSTEMS - {"__macosx"} for part in parts)
    return member.lower().endswith(IMAGE_SUFFIXES) and (
        of_system or member.lower().endswith((*_READ_LATER, *_TIFF))
    )


def _is_turned(file: Path | IO[bytes]) -> bool:
    # Imported here, as few folders have TIFFs and every call of Snakemake makes a plan.
    from PIL import Image

    try:
        with Image.open(file) as image:
            return image.getexif().get(0x0112, 1) != 1
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False


def _of_a_system(part: str) -> str | None:
    """Why a part of a path marks what systems leave behind; None if it does not."""
    if part.lower() in _OF_SYSTEMS or part.startswith("__MACOSX"):
        return "of a NAS or desktop system"
    return "hidden" if part.startswith(".") and part not in (".", "..") else None


def _status(root: Path, name: str, entry: os.DirEntry) -> os.stat_result | None:
    """The status of what an entry leads to; None for a link to nothing that is not missed."""
    try:
        return entry.stat()
    except OSError as error:
        if not entry.is_symlink() or error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            raise
    if PurePosixPath(name).suffix and not is_image(name):
        return None
    raise AbsentError(
        f"{root}: '{readable(name)}' is a link to {readable(os.readlink(root / name))}, which is "
        "not there"
    )


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino

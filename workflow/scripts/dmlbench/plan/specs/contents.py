"""The content of a user's folder of images, so that a changed image is noticed.

Reading every image in every call would take minutes; as in git, a file is read again only if its
size, its times of modification and of change, or its inode differ.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.image_folder import (
    AbsentError,
    counts,
    identity,
    is_image,
    mark,
    mark_of_archive,
    matrix_next_to,
    walk,
)

MEMORY = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dmlbench"
_MANY = 1000
_TICK = 50_000_000
"""Nanoseconds within which two changes of a file may have the same time."""


class Contents(NamedTuple):
    """The content of a folder.

    Attributes:
        identity: digest of the names and contents of its images.
        images: number of its images; None for an archive, which is not opened for it.
        absent: what is not there; the identity is then that of the last call. None if all is there.
    """

    identity: str
    images: int | None
    absent: str | None


def read_contents(folder: str, memory: Path = MEMORY, *, lists: str | None = None) -> Contents:
    """The content of all images below a folder, or of one archive.

    Args:
        folder: a folder, a zip or tar, or a list of vectors; `~` is the user's home.
        memory: where sizes, times and digests of read files are kept between calls.
        lists: which files count besides the images, as `image_folder.lists_of` gives it.

    Raises:
        AbsentError: the folder, or the target of a link in it, is not there and was never read.
        UserError: it cannot be read, or has no images.
    """
    root = Path(os.path.expanduser(folder))  # keeps the ~ of a name that is no user's
    where = f"{root.resolve()}{matrix_next_to(root, lists) or ''}"
    kept = memory / f"{hashlib.sha256(where.encode()).hexdigest()[:16]}.json"
    known, absent = _recall(kept), None
    try:
        now = _read(root, known, lists)
    except AbsentError as error:
        if not known:
            raise
        now, absent = known, str(error)
    if now != known:
        _remember(kept, now)
    counted = {name: entry[-1] for name, entry in now.items() if name == "." or counts(name, lists)}
    if not counted:
        raise UserError(f"{root}: has no images; allowed: a folder of class folders, or an archive")
    images = None if "." in counted else sum(map(is_image, counted))
    return Contents(identity(counted), images, absent)


def _read(root: Path, known: dict[str, list], lists: str | None) -> dict[str, list]:
    """Name -> size, two times, inode and content of every file; a known one is not read again."""
    now = time.time_ns()  # noqa: TID251 (compared with the times of files)
    if root.is_file():
        matrix = matrix_next_to(root, lists)
        files, linked = {".": root.stat()}, set()
        if matrix:
            files[lists] = _status(matrix)
    else:
        walked = walk(root)
        files, linked = walked.files, walked.in_linked_folders
        if known and not any(map(is_image, files)):
            raise AbsentError(f"{root}: has no images any more; is its disk plugged in?")
    seen = {name: _seen(status) for name, status in files.items()}
    new = [name for name, status in seen.items() if known.get(name, [])[:4] != status]
    if len(new) > _MANY:
        print(f"dmlbench: reading {len(new)} new files of {root}", file=sys.stderr)
    try:
        contents = {name: _content(root, name, linked=name in linked) for name in new}
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; allowed: files to read") from None
    for name in new:
        # One that has just changed may change again without another time: it is read next time.
        if seen[name][2] > now - _TICK:
            seen[name] = [0, 0, 0, 0]
    return {
        name: [*status, contents[name] if name in contents else known[name][-1]]
        for name, status in seen.items()
    }


def _content(root: Path, name: str, *, linked: bool) -> str:
    if root.is_file() and name != ".":
        return digest(root.parent / name)
    if name != ".":
        return digest(root / name) + mark(name, root / name, linked=linked)
    # Imported here, as it loads Pillow and every call of Snakemake makes a plan.
    from dmlbench.data.archives import Archive

    with Archive(root) as archive:
        return digest(root) + mark_of_archive(archive.members)


def _status(matrix: Path) -> os.stat_result:
    try:
        return matrix.stat()
    except OSError as error:
        raise AbsentError(f"{matrix}: {error.strerror}; allowed: a file to read") from None


def _seen(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _recall(file: Path) -> dict[str, list]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _remember(file: Path, known: dict[str, list]) -> None:
    """Keep what was read; if nothing can be written, it is read again next time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=file.parent, delete=False
        ) as unfinished:
            json.dump(known, unfinished)
        os.replace(unfinished.name, file)
    except OSError as error:
        print(f"dmlbench: {file}: {error.strerror}; images are read again", file=sys.stderr)

"""Where a result comes from: each folder of results has a file with one line per finished job.

A line has the SHA-256 digests of the job's files, of its inputs, of its parameters and of the code
of its stage, the folder that it was written in, and a checksum of itself. Readers compare a file
with its digest and its folder, and the plan compares the rest, so a changed file or code is noticed
in every copy of the results, whoever continues it and whatever the dates of its files are.

Earlier lines have neither folder nor checksum, and name no images and weights among their inputs:
they are valid, and prove less.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dmlbench import files, shared_files
from dmlbench.errors import DamagedError, MisplacedError
from dmlbench.record_lines import Record, Records, line_of, parsed

FILE = "provenance.jsonl"
"""Name of the file in every folder of results."""

_PUBLISHED = "results/published/"
"""Scores of the repository, which have no records."""

_LISTED = 32
"""The most inputs that a line lists one by one."""

_ADDED = {"thumbs.db", "desktop.ini"}
"""What Windows adds to a folder of pictures that is looked at."""


def write(record: Record, folder: str | os.PathLike) -> None:
    """Add a record to a folder; it replaces earlier records of the same files.

    Raises:
        UserError: the disk is full; the file of records is a link, or another user's.
    """
    path = Path(folder, FILE)
    with files.limits_are_named(path), shared_files.shared_file(path) as file:
        # Some network file systems have no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        # The line of a killed writer is not continued.
        file.truncate(shared_files.end_of_last_line(file))
        file.seek(0, os.SEEK_END)
        file.write(line_of(record))
        file.flush()
        os.fsync(file.fileno())


def record_of(path: str | os.PathLike) -> Record | None:
    """The record of a file; None if there is none."""
    folder, _, name = os.fspath(path).rpartition("/")
    return in_folder(folder).by_name.get(name)


def in_folder(folder: str) -> Records:
    """The records of a folder."""
    path = f"{folder}/{FILE}" if folder else FILE
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Records({}, "")
    except OSError as error:
        return Records({}, error.strerror)
    if not stat.S_ISREG(status.st_mode):
        return Records({}, "not a plain file")
    return _parsed(path, status.st_mtime_ns, status.st_size)


def check_records(folder: str) -> None:
    """Raise a DamagedError if a line of a folder's records is not as it was written."""
    _refuse_damaged(in_folder(folder), folder)


def check(path: str | os.PathLike) -> str:
    """Compare a file with its record; returns its recorded digest, empty if there is none.

    Raises:
        DamagedError: it is not the file that its rule wrote, or a record of its folder is damaged.
        MisplacedError: it was written in another folder.
    """
    folder, _, name = os.fspath(path).rpartition("/")
    records = in_folder(folder)
    _refuse_damaged(records, folder)
    record = records.by_name.get(name)
    if record is None:
        return ""
    if not is_in_place(record, folder):
        raise MisplacedError(path, record.place)
    known = record.files[name]
    with files.damage_is_named(path):
        now = digest(path)
    if now != known:
        raise DamagedError(
            path, ValueError(f"its SHA-256 digest is not the one that {record.rule} recorded")
        )
    return known


def is_in_place(record: Record, folder: str) -> bool:
    """Whether a folder is the one that a record was written in, in these or in other results.

    A run that was copied out of its results, to a folder that promises nothing, is in its place.
    """
    if folder.endswith(record.place):
        return True
    place = record.place.split("/")
    here = os.path.abspath(folder).split("/")[-len(place) :]
    return record.place in ("", ".") or here[0] != place[0] or here == place


def remedy(records: str | os.PathLike) -> str:
    """What to do about records that are damaged."""
    damage = in_folder(os.path.dirname(records)).damage
    line = re.match(r"line (\d+)", damage)
    command = f"sed -i {line[1]}d {records}" if line else f"rm -r {records}"
    return f"restore it, or use its files as they are, without a proof, after: {command}"


def digest(path: str | os.PathLike) -> str:
    """Hexadecimal SHA-256 digest of a file, or of the names and digests of a folder's files.

    Files that are hidden, or that Windows adds to a folder of pictures, do not count: Snakemake
    adds one, too. An unchanged file is read once per process.
    """
    if os.path.isdir(path):
        found = (each for each in Path(path).rglob("[!.]*") if each.name.lower() not in _ADDED)
        inside = sorted(each for each in found if each.is_file())
        named = [f"{each.relative_to(path).as_posix()} {digest(each)}" for each in inside]
        return _sha256("\n".join(named))
    status = shared_files.regular_status(path)
    return _of_bytes(os.fspath(path), status.st_ino, status.st_mtime_ns, status.st_size)


def digests_of_inputs(
    paths: Iterable[str], results: str, recorded: Record | None = None
) -> dict[str, str]:
    """The inputs of a job, as its record has them; without folders of the user.

    Args:
        paths: the inputs.
        results: the folder of results; other files, such as printed tables, are named without their
            folder.
        recorded: a record to compare with. One without a checksum has no images and weights; those
            without a record now, which may have been removed to be made again, are as it has them.
    """
    return _listed(dict(_named(paths, results, recorded).values()))


def inputs_as_recorded(record: Record, paths: Iterable[str], results: str) -> dict[str, str]:
    """Path of an input -> the digest that a record has of it, as far as it says so.

    Args:
        record: of a job.
        paths, results: as in `digests_of_inputs`.
    """
    named = _named(paths, results, record)
    now = dict(named.values())
    known = now if _listed(now) == record.inputs else record.inputs
    return {path: known[name] for path, (name, _) in named.items() if known.get(name)}


def digest_of_params(params: Mapping[str, Any]) -> str:
    """The digest of a job's parameters without code, folders and addresses."""
    return _sha256(repr(sorted((k, v) for k, v in params.items() if k not in _NO_CONTENT)))


_NO_CONTENT = {
    *("source", "code"),
    *("prepared", "prepared_train", "costs", "folder", "reference", "sources"),
}
_ONCE_LEFT_OUT = ("data/", "weights/")


def _named(
    paths: Iterable[str], results: str, recorded: Record | None
) -> dict[str, tuple[str, str]]:
    """Path of an input -> its name in a record and its digest now, empty if it is unknown."""
    named, below = {}, f"{results}/"
    for path in paths:
        _, is_published, published = path.partition(_PUBLISHED)
        if is_published:
            named[path] = f"published/{published}", digest(path)
        elif path.startswith(below):
            name, known = path[len(below) :], ""
            if name.startswith(_ONCE_LEFT_OUT) and recorded is not None:
                if recorded.earlier:
                    continue
                known = recorded.inputs.get(name, "")
            folder, _, file = path.rpartition("/")
            record = in_folder(folder).by_name.get(file)
            named[path] = name, record.files[file] if record else known
        elif os.path.isfile(path):
            named[path] = os.path.basename(path), digest(path)
    return named


def _listed(digests: dict[str, str]) -> dict[str, str]:
    if len(digests) <= _LISTED:
        return digests
    lines = "\n".join(f"{name} {known}" for name, known in sorted(digests.items()))
    return {f"{len(digests)} files": _sha256(lines)}


@functools.lru_cache(maxsize=1 << 17)
def _of_bytes(path: str, *version: int) -> str:
    return files.digest(path)


@functools.lru_cache(maxsize=1 << 17)
def _parsed(path: str, *version: int) -> Records:
    try:
        with files.limits_are_named(path), open(path, "rb") as file:
            return parsed(file.read())
    except OSError as error:
        return Records({}, error.strerror)


def _refuse_damaged(records: Records, folder: str) -> None:
    if records.damage:
        raise DamagedError(os.path.join(folder, FILE), ValueError(records.damage))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""Where a result comes from: each folder of results has a file with one line per finished job.

A line has the SHA-256 digests of the job's files, of its inputs, of its parameters and of the code
of its stage. Readers compare a file with its digest, and the plan compares the rest, so a changed
file or code is noticed in every copy of the results, whoever continues it and whatever the dates of
its files are.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dmlbench import files
from dmlbench.errors import DamagedError

FILE = "provenance.jsonl"
"""Name of the file in every folder of results."""

_LISTED = 32
"""The most inputs that a line lists one by one."""


class Record(NamedTuple):
    """Where the files of one job come from.

    Attributes:
        rule: the rule that made them.
        files: name of each file -> its digest.
        inputs: path of each input below the results -> its digest; empty digests are unknown. Many
            inputs are one entry with a common digest.
        params: digest of the parameters that can change the files.
        code: digest of the code of the stage, or of each of its parts.
    """

    rule: str
    files: dict[str, str]
    inputs: dict[str, str]
    params: str
    code: str | dict[str, str]


def write(record: Record, folder: str | os.PathLike) -> None:
    """Add a record to a folder; it replaces earlier records of the same files.

    Raises:
        UserError: the disk is full.
    """
    path = Path(folder, FILE)
    line = json.dumps(record._asdict(), separators=(",", ":")) + "\n"
    with files.full_disk_is_a_user_error(path), open(path, "a+b") as file:
        # Some network file systems have no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        # The line of a killed writer is not continued.
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        file.write((b"" if end == 0 or file.read(1) == b"\n" else b"\n") + line.encode())
        file.flush()
        os.fsync(file.fileno())


def record_of(path: str | os.PathLike) -> Record | None:
    """The record of a file; None if there is none."""
    folder, name = os.path.split(path)
    return in_folder(folder).get(name)


def in_folder(folder: str) -> dict[str, Record]:
    """Name of a file -> its record, for all files of a folder that have one.

    Lines that cannot be read are left out.
    """
    path = os.path.join(folder, FILE)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return _parsed(path, status.st_mtime_ns, status.st_size)


def check(path: str | os.PathLike) -> str:
    """Compare a file with its record; returns its recorded digest, empty if there is none.

    Raises:
        DamagedError: it is not the file that its rule wrote.
    """
    record = record_of(path)
    if record is None:
        return ""
    known = record.files[os.path.basename(path)]
    if digest(path) != known:
        raise DamagedError(
            path, ValueError(f"its SHA-256 digest is not the one that {record.rule} recorded")
        )
    return known


def digest(path: str | os.PathLike) -> str:
    """Hexadecimal SHA-256 digest of a file, or of the names and digests of a folder's files.

    Hidden files of a folder do not count: Snakemake adds one. An unchanged file is read once per
    process.
    """
    if os.path.isdir(path):
        inside = sorted(each for each in Path(path).rglob("[!.]*") if each.is_file())
        named = [f"{each.relative_to(path).as_posix()} {digest(each)}" for each in inside]
        return _sha256("\n".join(named))
    status = os.stat(path)
    return _of_bytes(os.fspath(path), status.st_ino, status.st_mtime_ns, status.st_size)


def digests_of_inputs(paths: Iterable[str], results: str) -> dict[str, str]:
    """The inputs of a job, as its record has them.

    Inputs whose folder is named by their content are left out, and so are folders of the user.

    Args:
        paths: the inputs.
        results: the folder of results; other files, such as printed tables, are named without their
            folder.
    """
    digests = dict(_named(paths, f"{results}/"))
    if len(digests) <= _LISTED:
        return digests
    lines = "\n".join(f"{name} {known}" for name, known in sorted(digests.items()))
    return {f"{len(digests)} files": _sha256(lines)}


def digest_of_params(params: Mapping[str, Any]) -> str:
    """The digest of a job's parameters without code, folders and addresses."""
    return _sha256(repr(sorted((k, v) for k, v in params.items() if k not in _NO_CONTENT)))


_NO_CONTENT = {
    *("source", "code"),
    *("prepared", "prepared_train", "costs", "folder", "reference", "sources"),
}
_NAMED_BY_CONTENT = ("data/", "weights/")


def _named(paths: Iterable[str], results: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path.startswith(results):
            name = path[len(results) :]
            if not name.startswith(_NAMED_BY_CONTENT):
                record = record_of(path)
                yield name, record.files[os.path.basename(path)] if record else ""
        elif os.path.isfile(path):
            yield os.path.basename(path), digest(path)


@functools.lru_cache(maxsize=1 << 17)
def _of_bytes(path: str, *version: int) -> str:
    return files.digest(path)


@functools.lru_cache(maxsize=1 << 17)
def _parsed(path: str, *version: int) -> dict[str, Record]:
    records = {}
    lines = Path(path).read_bytes().split(b"\n")
    for line in lines[:-1]:
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            record = Record(**json.loads(line))
            records |= dict.fromkeys(record.files, record)
    return records


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

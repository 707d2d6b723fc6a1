"""A line of a folder's records (`dmlbench.provenance`): how it is written, checked and read."""

import hashlib
import json
import os
from typing import NamedTuple

from dmlbench.shared_files import CONTROL

_BEFORE, _DIGITS, _AFTER = b',"sha256":"', 16, b'"}'
"""The end of a line: the first digits of the digest of what is before it."""

_END = len(_BEFORE) + _DIGITS + len(_AFTER)

_NEW = (b'"place":', b'"sha256":')
"""What only lines with a checksum have; a single flipped bit leaves one of them."""


class Record(NamedTuple):
    """Where the files of one job come from.

    Attributes:
        rule: the rule that made them.
        files: name of each file -> its digest.
        inputs: path of each input below the results -> its digest; empty digests are unknown. Many
            inputs are one entry with a common digest.
        params: digest of the parameters that can change the files.
        code: digest of the code of the stage, or of each of its parts.
        place: the folder below the results that it was written in, `.` for the results themselves;
            empty if it is not known.
        earlier: whether its line is of before lines had a checksum. Its place is that of the run
            whose files an evaluation or embedding in the same folder took.
    """

    rule: str
    files: dict[str, str]
    inputs: dict[str, str]
    params: str
    code: str | dict[str, str]
    place: str = ""
    earlier: bool = False


class Records(NamedTuple):
    """The records of a folder.

    Attributes:
        by_name: name of a file -> its record.
        damage: what is wrong with a line, in words; such lines have no record here.
    """

    by_name: dict[str, Record]
    damage: str


def line_of(record: Record) -> bytes:
    """The line of a record, with its checksum and its end."""
    # The place first, so that what a flipped bit leaves of a line is known to have a checksum.
    values = {"place": record.place, **record._asdict()}
    del values["earlier"]
    body = json.dumps(values, separators=(",", ":")).encode()[:-1]
    return body + _checksum(body) + b"\n"


def parsed(content: bytes) -> Records:
    """The records of a file.

    Lines of a killed writer are left out; what else cannot be read is damage.
    """
    # Of ten thousand runs at once: what each takes is measured by benchmarks/records.py.
    records, damage, is_earlier = {}, "", False
    *lines, rest = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            record = _record(line)
        except (ValueError, RecursionError):
            # The line of a killed writer ended anywhere, and the next one began a line of its own.
            is_begun = line.startswith(b"{") and not line.endswith(b"}")
            is_unfinished = is_begun and not any(word in line for word in _NEW)
            damage = damage or ("" if is_unfinished else f"line {number} is not as it was written")
        else:
            records |= dict.fromkeys(record.files, record)
            is_earlier = is_earlier or record.earlier
    if rest and _has_checksum(rest[:-1]):
        damage = damage or f"line {len(lines) + 1} has no end"
    places = map(_place_of_run, records.values()) if is_earlier else ()
    if place := next(filter(None, places), ""):
        records = {
            name: record._replace(place=record.place or place) if record.earlier else record
            for name, record in records.items()
        }
    return Records(records, damage)


def _place_of_run(record: Record) -> str:
    """The folder that an earlier record of a run says its inputs are in; empty if it is none."""
    is_of_run = record.earlier and record.rule in ("embed", "embed_train", "evaluate")
    folders = (os.path.dirname(name) for name in record.inputs if name.startswith("runs/"))
    return next(folders, "") if is_of_run else ""


def _record(line: bytes) -> Record:
    """The record of a line; a ValueError or RecursionError if it is none."""
    is_earlier = not _has_checksum(line)
    if not is_earlier:
        body = line[:-_END]
        if line[-_END:] != _checksum(body):
            raise ValueError("it differs from its checksum")
        line = body + b"}"
    elif any(word in line for word in _NEW):
        raise ValueError("it has lost its checksum")
    values = _JSON.decode(line.decode())
    if type(values) is not dict or not _is_record(values):
        raise ValueError("it is no record")
    # Faster than a look at each character.
    is_plain = line.isascii() and b"\\" not in line and b"\x7f" not in line
    if not is_plain and CONTROL.search(_text(values)):
        raise ValueError("it has what a terminal would follow")
    return Record(**values, earlier=is_earlier)


def _has_checksum(line: bytes) -> bool:
    return line.endswith(_AFTER) and line.startswith(_BEFORE, -_END)


def _checksum(body: bytes) -> bytes:
    return _BEFORE + hashlib.sha256(body).hexdigest()[:_DIGITS].encode() + _AFTER


def _is_record(values: dict) -> bool:
    """Whether values have the keys and kinds of a record's, and names of files are names."""
    if values.keys() - {"place"} != _KEYS:
        return False
    names, inputs, code = values["files"], values["inputs"], values["code"]
    kinds = tuple(map(type, (values["rule"], names, inputs, values["params"], code)))
    if kinds not in _KINDS or type(values.get("place", "")) is not str:
        return False
    try:
        # Faster than a look at each type.
        "".join([*names.values(), *inputs.values(), *(() if type(code) is str else code.values())])
    except TypeError:
        return False
    return (
        bool(names)
        and values["rule"].isidentifier()
        and "/" not in "".join(names)
        and _NO_NAMES.isdisjoint(names)
    )


def _text(values: dict) -> str:
    """All that is printed of a record."""
    code = values["code"]
    names = [*values["files"], *values["inputs"], *((code,) if type(code) is str else code)]
    return "".join([*names, values["params"], values.get("place", "")])


_KEYS = {"rule", "files", "inputs", "params", "code"}
_KINDS = {(str, dict, dict, str, code) for code in (str, dict)}
_JSON = json.JSONDecoder()
_NO_NAMES = frozenset(("", ".", ".."))

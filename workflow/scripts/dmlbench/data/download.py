"""Downloads with mirrors: checked before they get their final name, resumed after a break."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import requests
import urllib3

from dmlbench.data.archives import DAMAGED, Archive
from dmlbench.errors import UserError
from dmlbench.files import digest, limits_are_named

_ATTEMPTS = 4
_FIRST_WAIT = 1.0
_TIMEOUT = (15, 60)
_CHUNK = 1 << 20
_MD5_DIGITS = 32
_MOST_UNKNOWN = 100_000_000
"""Bytes of a body whose size neither the catalog nor its server tells."""
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}


class _SourceError(Exception):
    """This source cannot give the file; the next one may."""


def mirrors(configured: Sequence[str]) -> list[str]:
    """Roots of mirrors in the order in which they are tried: DMLBENCH_MIRROR, then these."""
    first = os.environ.get("DMLBENCH_MIRROR")
    return [*([first] if first else []), *configured]


def download(
    name: str,
    urls: list[str],
    sha256: str | None,
    mirrors: list[str],
    mirror_sha256: list[str],
    output: Path,
    bytes: int | None = None,
    dataset: str | None = None,
    md5: str | None = None,
    note: str | None = None,
    at_most: int | None = None,
) -> None:
    """Fetch a file from the first source that has all of it.

    Mirrors come first, then the file's own addresses, each in order. In a mirror the file is
    looked for at `<mirror>/<name>` and `<mirror>/<dataset>/<name>`. After network errors it is
    tried again, with growing pauses, and a broken transfer resumes where it stopped, in a later
    call too: what has arrived is kept at `<output>.part`.

    A file without a hash is not taken over plain http, on which anyone on the way can change it
    and nothing would show it. Messages name addresses without user, password and query, which may
    be secret.

    Args:
        name: the file's name, in mirrors and in messages.
        urls: addresses: http, https, file, or npm:<package>@<version>/<file of it>, which npm gets
            from wherever it is set up to.
        sha256: the published hash, or its first digits (not 32 of them); None if there is none.
        mirrors: roots of mirrors: folders, file:// or http(s):// addresses.
        mirror_sha256: further hashes that a file from a mirror may have (the same content,
            repacked).
        output: where the file goes.
        bytes: the published size, of files with the published hash; None where unknown.
        dataset: the folder in a mirror.
        md5: the published hash if there is no sha256.
        note: how to get a file that has no address, for the message when no source works.
        at_most: the most bytes that it can have, if its size is not always the same.

    Raises:
        UserError: no source works; one line with the reason of each. A full disk.
    """
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    official = sha256 or md5
    published = {official} if official else set()
    sources = [(place, published | set(mirror_sha256)) for place in _places(mirrors, name, dataset)]
    sources += [(url, published) for url in urls]
    failures = []
    for source, hashes in sources:
        # What is packed again has another size.
        most = bytes or at_most if hashes == published else None
        try:
            with limits_are_named(output):
                _fetch_checked(source, hashes, official, bytes, output, most)
            return
        except _SourceError as failure:
            failures.append(f"{_public(source)}: {failure}")
    noted = f" ({note})" if note else ""
    raise UserError(
        f"{name}: no source works: {'; '.join(failures) or 'none is known'}. Put the file{noted} "
        f"into a folder and name that folder in DMLBENCH_MIRROR or under data.mirrors"
    )


def _public(source: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(source)
    if "://" not in source:
        return source
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "***" if parts.query else "", ""))


def _places(mirrors: list[str], name: str, dataset: str | None) -> Iterator[str]:
    for mirror in mirrors:
        root = str(mirror).rstrip("/")
        tail = quote(name) if "://" in root else name
        yield f"{root}/{tail}"
        if dataset:
            yield f"{root}/{dataset}/{tail}"


def _fetch_checked(
    source: str,
    hashes: set[str],
    published: str | None,
    size: int | None,
    output: Path,
    most: int | None,
) -> None:
    part = output.with_name(output.name + ".part")
    is_checked = bool(hashes)
    # Without a hash, a part of another file could not be distinguished from a part of this one.
    resumed = is_checked and part.exists()
    if not resumed:
        part.unlink(missing_ok=True)
    _fetch(source, part, most, is_checked)
    problem = _problem(part, hashes, published, size)
    if problem and resumed:
        part.unlink()
        _fetch(source, part, most, is_checked)
        problem = _problem(part, hashes, published, size)
    if problem:
        part.unlink()
        raise _SourceError(problem)
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    os.replace(part, output)


def _problem(part: Path, hashes: set[str], published: str | None, size: int | None) -> str | None:
    """What is wrong with a complete file, or None."""
    found_size = part.stat().st_size
    digests = {kind: digest(part, kind) for kind in sorted({_kind(hash) for hash in hashes})}
    if hashes and not any(digests[_kind(hash)].startswith(hash) for hash in hashes):
        expected = " or ".join(
            f"{kind} {' or '.join(sorted(hash for hash in hashes if _kind(hash) == kind))}"
            for kind in digests
        )
        named = ", ".join(digests.values())
        return f"expected {expected}, found {named} ({found_size} bytes)"
    is_published = not hashes or (
        published is not None and digests[_kind(published)].startswith(published)
    )
    if size is not None and found_size != size and is_published:
        return f"expected {size} bytes, found {found_size}"
    return None


def _kind(hash: str) -> str:
    return "md5" if len(hash) == _MD5_DIGITS else "sha256"


def _fetch(source: str, part: Path, most: int | None, is_checked: bool) -> None:
    scheme = urlsplit(source).scheme
    if scheme in ("http", "https"):
        _fetch_from_network(source, part, most, is_checked)
    elif scheme == "npm":
        _take_from_package(source.removeprefix("npm:"), part)
    elif "://" not in source or scheme == "file":
        _copy(Path(unquote(urlsplit(source).path)) if scheme == "file" else Path(source), part)
    else:
        raise _SourceError("not an address of http, https, file or npm, nor a folder")


def _take_from_package(source: str, part: Path) -> None:
    package, _, member = source.rpartition("/")
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = ["npm", "pack", "--ignore-scripts", "--loglevel=error", package]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, encoding="utf-8")
            (packed,) = Path(folder).glob("*.tgz")
            with Archive(packed) as archive:
                part.write_bytes(archive.read(f"package/{member}"))
        except FileNotFoundError as error:
            raise _SourceError("npm is not installed") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.strip().splitlines() or [""]
            raise _SourceError(f"npm pack fails: {said[0]}") from error
        except (KeyError, UserError, *DAMAGED) as error:
            raise _SourceError(f"the package has no such file: {error}") from error


def _copy(source: Path, part: Path) -> None:
    source = source.expanduser()
    if not source.is_file():
        raise _SourceError("no such file")
    shutil.copyfile(source, part)


def _fetch_from_network(url: str, part: Path, most: int | None, is_checked: bool) -> None:
    """Append to the part until it is complete, or has more bytes than it may."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_FIRST_WAIT * 2 ** (attempt - 1))
        try:
            return _transfer(url, part, most, is_checked)
        except (requests.ConnectionError, requests.Timeout, _BrokenError) as error:
            reason = _short(error)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _SourceError(_short(error)) from error
    raise _SourceError(f"{reason} ({_ATTEMPTS} attempts)")


class _BrokenError(Exception):
    """A transfer that may work when tried again."""


def _transfer(url: str, part: Path, most: int | None, is_checked: bool) -> None:
    have = part.stat().st_size if part.exists() else 0
    # A content encoding would make lengths and ranges count other bytes than the file's.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
        passed = [urlsplit(each.url).scheme for each in (*response.history, response)]
        if not is_checked and "http" in passed:
            raise _SourceError("plain http, and no hash to check the file by; give its sha256")
        if response.status_code == 416:
            return  # the part is complete already, or wrong, which its hash will show
        if response.status_code in _TRY_AGAIN:
            raise _BrokenError(f"HTTP status {response.status_code}")
        if response.status_code not in (200, 206):
            raise _SourceError(f"HTTP status {response.status_code}")
        resumes = response.status_code == 206
        if resumes and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise _SourceError("answers with a different part of the file than requested")
        promised = _promised(response, part)
        with open(part, "ab" if resumes else "wb") as file:
            received = 0
            try:
                # As it is sent: a body that claims to be compressed could unpack to any size.
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    file.write(chunk)
                    received += len(chunk)
                    if most is not None and file.tell() > most:
                        part.unlink()
                        raise _SourceError(f"sends more than the published {most} bytes")
                    if most is None and promised is None and received > _MOST_UNKNOWN:
                        part.unlink()
                        raise _SourceError(
                            f"sends more than {_MOST_UNKNOWN} bytes without saying how many; give "
                            "the file's size as `bytes`"
                        )
            except urllib3.exceptions.HTTPError as error:
                raise _BrokenError(f"the connection broke after {received} bytes") from error
        if promised is not None and received != promised:
            raise _BrokenError(f"the connection broke after {received} of {promised} bytes")


def _promised(response: requests.Response, part: Path) -> int | None:
    """The number of bytes that a server says it sends; None if it does not say."""
    length = response.headers.get("Content-Length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()):
        raise _SourceError(f"Content-Length {ascii(length)[:40]}: not a number of bytes")
    free = shutil.disk_usage(part.parent).free
    if int(length) > free:
        raise _SourceError(f"says that it sends {length} bytes; the disk has {free} free")
    return int(length)


def _short(error: Exception) -> str:
    return str(error) if isinstance(error, _BrokenError) else type(error).__name__

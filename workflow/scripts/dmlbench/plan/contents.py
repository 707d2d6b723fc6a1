"""The content of a user's folder of images, so that a changed image is noticed.

Reading every image in every call would take minutes; as in git, a file is read again only if its
size or modification time has changed.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.files import digest

MEMORY = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dmlbench"
_MANY = 1000


def contents_digest(folder: str, memory: Path = MEMORY) -> str:
    """Digest of the names and contents of all files below a folder, or of one archive.

    Args:
        folder: a folder, or a zip or tar; `~` is the user's home.
        memory: where sizes, times and digests of read files are kept between calls.

    Raises:
        UserError: it does not exist or cannot be read.
    """
    root = Path(folder).expanduser()
    kept = memory / f"{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}.json"
    known = _recall(kept)
    try:
        found = {name: _seen(path) for name, path in _files(root)}
        new = [name for name, seen in found.items() if known.get(name, [])[:2] != seen]
        if len(new) > _MANY:
            print(f"dmlbench: reading {len(new)} new files of {root}", file=sys.stderr)
        digests = {name: digest(root if name == "." else root / name) for name in new}
    except OSError as error:
        raise UserError(f"{root}: {error.strerror}; allowed: a folder or an archive") from None
    if not found:
        raise UserError(f"{root}: has no files; allowed: a folder of class folders, or an archive")
    now = {
        name: [*seen, digests[name] if name in digests else known[name][2]]
        for name, seen in found.items()
    }
    if now != known:
        _remember(kept, now)
    text = json.dumps([[name, content] for name, (_, _, content) in sorted(now.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder, by relative path; hidden files are left out."""
    if not root.is_dir():
        yield ".", root
        return
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                path = Path(folder, name)
                yield path.relative_to(root).as_posix(), path


def _seen(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _recall(file: Path) -> dict[str, list]:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def _remember(file: Path, known: dict[str, list]) -> None:
    """Keep what was read; if nothing can be written, it is read again next time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as unfinished:
            json.dump(known, unfinished)
        os.replace(unfinished.name, file)
    except OSError as error:
        print(f"dmlbench: {file}: {error.strerror}; images are read again", file=sys.stderr)

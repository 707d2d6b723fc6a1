"""Results of a training under a second name, so that they are not lost by mistake.

Snakemake removes a job's outputs when a job of the same group fails, and before it runs a job
again. A training's outputs are determined by its folder's name, so they are restored instead.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from dmlbench.files import atomic_write
from dmlbench.provenance import digest

FOLDER = ".kept"
_DIGESTS = "digests.json"


def keep(files: Iterable[Path]) -> None:
    """Give files of one folder a second name, which takes no space, with their digests next to it.

    If the file system has no hard links, nothing is kept.
    """
    files = [Path(file) for file in files]
    folder = files[0].parent / FOLDER
    folder.mkdir(exist_ok=True)
    with contextlib.suppress(OSError):
        for file in files:
            link = folder / file.name
            link.unlink(missing_ok=True)
            os.link(file, link)
        with atomic_write(folder / _DIGESTS) as unfinished:
            unfinished.write_text(json.dumps({file.name: digest(file) for file in files}))


def put_back(files: Iterable[Path]) -> bool:
    """Restore kept files; returns whether all of them existed and were intact."""
    files = [Path(file) for file in files]
    folder = files[0].parent / FOLDER
    try:
        digests = json.loads((folder / _DIGESTS).read_text())
        if any(digest(folder / file.name) != digests[file.name] for file in files):
            return False
        for file in files:
            file.unlink(missing_ok=True)
            os.link(folder / file.name, file)
    except (OSError, ValueError, KeyError):
        return False
    print(f"kept from an earlier call; to train again, remove {files[0].parent}")
    return True

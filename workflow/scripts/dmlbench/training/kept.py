"""Results of a training under a second name, so that they are not lost by mistake.

Snakemake removes a job's outputs when a job of the same group fails, and before it runs a job
again. A training's outputs are determined by its folder's name, so they are restored instead.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from dmlbench.files import write_text
from dmlbench.plan import paths
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.provenance import digest

FOLDER = ".kept"
_DIGESTS = "digests.json"
_SPEC = Path(paths.made("train", "spec")).name


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
        write_text(folder / _DIGESTS, json.dumps({file.name: digest(file) for file in files}))


def put_back(files: Iterable[Path], spec: dict) -> bool:
    """Restore kept files; returns whether all of them existed and were intact, and of this spec.

    Args:
        files: the outputs of a training, its spec among them.
        spec: what it would train, as plain values.
    """
    files = [Path(file) for file in files]
    folder = files[0].parent / FOLDER
    try:
        digests = json.loads((folder / _DIGESTS).read_text(encoding="utf-8"))
        if any(digest(folder / file.name) != digests[file.name] for file in files):
            return False
        if not _is_of(spec, folder / _SPEC):
            return False
        for file in files:
            file.unlink(missing_ok=True)
            os.link(folder / file.name, file)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    print(f"kept from an earlier call; to train again, remove {files[0].parent}")
    return True


def _is_of(spec: dict, kept: Path) -> bool:
    """Whether a kept spec is this one: the folder may be a copy of another run's."""
    try:
        specs = [Spec.model_validate(complete(values)) for values in (spec, read_mapping(kept))]
    except ValueError:
        return False
    return specs[0].digest == specs[1].digest

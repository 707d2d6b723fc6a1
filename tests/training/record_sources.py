"""Record the digests of the code behind each version: of training, data, search and each part.

The files of a part are its own and those that it imports from the rooms of parts (`_x.py`, or
another part). All other files that training, or a part of it, imports are training's; those that
the preparation of data imports are data's; those that choose and score trials are the search's. A
file can count for several of them.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from dmlbench import registry
from dmlbench.data.version import VERSION as DATA
from dmlbench.plan.sources import SCRIPTS, imported, module_digest
from dmlbench.plan.versions import part_name
from dmlbench.search.version import VERSION as SEARCH
from dmlbench.training.version import VERSION as TRAINING

RECORD = Path(__file__).parent / "sources.json"
LIBRARY = SCRIPTS / "dmlbench"

TRAINING_ROOMS = (
    "data/transforms",
    "losses",
    "miners",
    "networks/backbones",
    "regularizers",
    "samplers",
)
DATA_ROOMS = ("data/generators", "data/layouts", "data/splits")
OTHER_ROOMS = ("experiments", "search/pruners", "search/strategies")
ROOMS = TRAINING_ROOMS + DATA_ROOMS + OTHER_ROOMS
# The epoch of the best score is chosen in training; `score` is imported by name at run time.
TRAINING_FILES = (SCRIPTS / "train.py", LIBRARY / "evaluation" / "scoring.py")
DATA_FILES = tuple(
    LIBRARY / "data" / file for file in ("generate.py", "index.py", "pack.py", "split.py")
)
SEARCH_FILES = tuple(
    LIBRARY / "search" / file for file in ("distributions.py", "objective.py", "trials.py")
)
# Code that decides what is made and how it is watched, stored and checked, but not what results.
WITHOUT = (
    "errors.py",
    "files.py",
    "garbage.py",
    "job.py",
    "locks.py",
    "machine.py",
    "parquet.py",
    "plan/",
    "registry.py",
    "search/__init__.py",
    "search/best.py",
    "training/export.py",
    "training/gpus.py",
    "training/kept.py",
    "training/prepared.py",
    "values.py",
)


def records() -> dict[str, dict]:
    """{"training": {"version": 1, "sources": {path: digest}}, "losses/margin": ..., ...}"""
    found = {
        "training": _record(TRAINING, _core(TRAINING_FILES, TRAINING_ROOMS)),
        # What options may be is declared in words of evaluation, too: its names of metrics.
        "data": _record(DATA, _core(DATA_FILES, DATA_ROOMS) - imported(LIBRARY / "values.py")),
        "search": _record(SEARCH, SEARCH_FILES),
    }
    for room in ROOMS:
        for name in registry.available(room):
            files = [file for file in imported(_file(room, name)) if _is_in_a_room(file)]
            found[part_name(room, name)] = _record(registry.version(room, name), files)
    return found


def where_version_is(entry: str) -> str:
    """The file under dmlbench/ that has an entry's VERSION."""
    if entry in ("training", "data", "search"):
        return f"{entry}/version.py"
    name = entry.rpartition("/")[2]
    (room,) = (room for room in ROOMS if part_name(room, name) == entry)
    return f"{room}/{name}.py"


def complaints(recorded: dict[str, dict], now: dict[str, dict]) -> list[str]:
    """What to do about each entry whose source or version is not the recorded one."""
    found = []
    for entry in sorted({*recorded, *now}):
        before, after = recorded.get(entry), now.get(entry)
        if before is None or after is None:
            found.append(f"{entry} is {'new' if before is None else 'gone'}: make record-training")
        elif before["version"] != after["version"]:
            found.append(f"{entry} has another VERSION than recorded: make record-training")
        elif before["sources"] != after["sources"]:
            changed = dict(before["sources"].items() ^ after["sources"].items())
            found.append(
                f"{entry}: {', '.join(sorted(changed))} changed: if the same options can now give "
                f"other results, raise VERSION in dmlbench/{where_version_is(entry)}; then: "
                "make record-training"
            )
    return found


def _core(files: Iterable[Path], rooms: Iterable[str]) -> set[Path]:
    """What some files import, and what the parts of rooms import from outside of rooms."""
    core = {file for file in set().union(*map(imported, files)) if not _is_a_part(file)}
    for room in rooms:
        for name in registry.available(room):
            core |= {file for file in imported(_file(room, name)) if not _is_in_a_room(file)}
    return core


def _record(version: int, files: Iterable[Path]) -> dict:
    paths = {
        file.relative_to(LIBRARY).as_posix(): file for file in files if LIBRARY in file.parents
    }
    kept = sorted(path for path in paths if not path.startswith(WITHOUT))
    return {"version": version, "sources": {path: module_digest(paths[path]) for path in kept}}


def _file(room: str, name: str) -> Path:
    return LIBRARY / room / f"{name}.py"


def _is_in_a_room(file: Path) -> bool:
    rooms = [LIBRARY / room for room in ROOMS]
    return file.parent in rooms and file.name != "__init__.py"


def _is_a_part(file: Path) -> bool:
    """Whether it has a version of its own: a helper of a room has not."""
    return _is_in_a_room(file) and not file.stem.startswith("_")


if __name__ == "__main__":
    RECORD.write_text(json.dumps(records(), indent=1) + "\n")

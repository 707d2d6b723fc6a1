"""Record the digests of the code behind each version: of training, data, search and each part.

The files of a part are its own and those that it imports from the packages of parts (`_x.py`, or
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

TRAINING_PACKAGES = (
    "data/transforms",
    "losses",
    "miners",
    "networks/backbones",
    "regularizers",
    "samplers",
)
DATA_PACKAGES = ("data/generators", "data/layouts", "data/splits")
OTHER_PACKAGES = ("experiments", "search/pruners", "search/strategies")
PACKAGES = TRAINING_PACKAGES + DATA_PACKAGES + OTHER_PACKAGES
# Training chooses the epoch with the best score; it imports `score` by name at run time.
TRAINING_FILES = (SCRIPTS / "train.py", LIBRARY / "evaluation" / "scoring.py")
DATA_FILES = tuple(
    LIBRARY / "data" / file for file in ("generate.py", "index.py", "pack.py", "split.py")
)
SEARCH_FILES = tuple(
    LIBRARY / "search" / file for file in ("distributions.py", "objective.py", "trials.py")
)
# Code that decides what is made and how it is monitored, stored and checked, but not the results.
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
        "training": _record(TRAINING, _core(TRAINING_FILES, TRAINING_PACKAGES)),
        # Options are also declared with a part of evaluation: its metric names.
        "data": _record(DATA, _core(DATA_FILES, DATA_PACKAGES) - imported(LIBRARY / "values.py")),
        "search": _record(SEARCH, SEARCH_FILES),
    }
    for package in PACKAGES:
        for name in registry.available(package):
            files = [file for file in imported(_file(package, name)) if _is_in_a_package(file)]
            found[part_name(package, name)] = _record(registry.version(package, name), files)
    return found


def where_version_is(entry: str) -> str:
    """The file under dmlbench/ that has an entry's VERSION."""
    if entry in ("training", "data", "search"):
        return f"{entry}/version.py"
    name = entry.rpartition("/")[2]
    (package,) = (package for package in PACKAGES if part_name(package, name) == entry)
    return f"{package}/{name}.py"


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


def _core(files: Iterable[Path], packages: Iterable[str]) -> set[Path]:
    """What some files import, and what the parts of packages import from outside packages."""
    core = {file for file in set().union(*map(imported, files)) if not _is_a_part(file)}
    for package in packages:
        for name in registry.available(package):
            core |= {file for file in imported(_file(package, name)) if not _is_in_a_package(file)}
    return core


def _record(version: int, files: Iterable[Path]) -> dict:
    paths = {
        file.relative_to(LIBRARY).as_posix(): file for file in files if LIBRARY in file.parents
    }
    kept = sorted(path for path in paths if not path.startswith(WITHOUT))
    return {"version": version, "sources": {path: module_digest(paths[path]) for path in kept}}


def _file(package: str, name: str) -> Path:
    return LIBRARY / package / f"{name}.py"


def _is_in_a_package(file: Path) -> bool:
    packages = [LIBRARY / package for package in PACKAGES]
    return file.parent in packages and file.name != "__init__.py"


def _is_a_part(file: Path) -> bool:
    """Whether it has its own version, unlike a helper of a package."""
    return _is_in_a_package(file) and not file.stem.startswith("_")


if __name__ == "__main__":
    RECORD.write_text(json.dumps(records(), indent=1) + "\n")

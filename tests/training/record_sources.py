"""Record the digests of the code that training runs, for its present version."""

import json
from pathlib import Path

from dmlbench import registry
from dmlbench.plan.sources import SCRIPTS, imported, module_digest
from dmlbench.training.version import VERSION

RECORD = Path(__file__).parent / "sources.json"
ROOMS = (
    "data/transforms",
    "losses",
    "miners",
    "networks/backbones",
    "regularizers",
    "samplers",
)
# Code that decides what is trained or how it is watched, but not to which weights.
WITHOUT = (
    "errors.py",
    "evaluation/",
    "files.py",
    "job.py",
    "parquet.py",
    "plan/",
    "registry.py",
    "training/export.py",
    "training/gpus.py",
    "training/prepared.py",
)


def sources() -> dict[str, str]:
    """Digest of every module that can change a training's weights, by path."""
    files = set(imported(SCRIPTS / "train.py"))
    for room in ROOMS:
        for name in registry.available(room):
            files |= imported(SCRIPTS / "dmlbench" / room / f"{name}.py")
    library = SCRIPTS / "dmlbench"
    found = {
        file.relative_to(library).as_posix(): module_digest(file)
        for file in files
        if library in file.parents
    }
    return {name: found[name] for name in sorted(found) if not name.startswith(WITHOUT)}


if __name__ == "__main__":
    record = {"version": VERSION, "sources": sources()}
    RECORD.write_text(json.dumps(record, indent=2) + "\n")

"""Where jobs import this library from."""

import os
from pathlib import Path


def let_jobs_import_from(library: Path) -> None:
    """Let the processes that this one starts import from a folder first.

    Snakemake searches the folder of a job's script last: another dmlbench that is installed, such
    as that of another clone, would run instead.
    """
    others = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(library), *others]))

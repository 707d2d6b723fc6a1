"""What `dmlbench check` says of this machine and the configuration."""

import importlib.metadata
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.call import results_folder
from dmlbench.plan.catalogs.read import read_mapping
from dmlbench.plan.load import reload
from dmlbench.plan.views.study_checks import check_studies
from dmlbench.program import path_of_user
from dmlbench.training.visible_gpus import visible_gpus
from dmlbench.words import counted

_SHOWN = 5


def checked(folder: Path) -> Iterator[str]:
    """Lines about packages, GPU, disk, studies and the user's images.

    Args:
        folder: of the workflow.
    """
    differing, absent, number = _packages(folder / "requirements.lock")
    state = "as locked" if not differing else f"{len(differing)} of other versions than locked"
    yield f"environment  Python {platform.python_version()}, {number} packages {state}"
    for each in [*differing[:_SHOWN], *(f"{name}: not installed" for name in absent[:_SHOWN])]:
        yield f"             {each}"
    try:
        gpus = visible_gpus()
        yield f"GPU          {counted(len(gpus), 'GPU') if gpus else 'none: trainings use the CPU'}"
    except UserError as error:
        yield f"GPU          {error}"
    values = read_mapping(folder / "config" / "config.yaml")
    results = folder / results_folder(values)
    there = next(each for each in (results, *results.parents) if each.exists())
    yield f"disk         {shutil.disk_usage(there).free / 1e9:,.0f} GB free at {results}"
    plan = reload(values, folder / "config")
    own = [name for name, file in plan.files.items() if file.parent.parent != plan.folder]
    plan.studies = {name: each for name, each in plan.studies.items() if name in own}
    check_studies(plan)
    cannot = f"{len(plan.broken)} that cannot be used"
    yield f"studies      {len(plan.files)}, {len(own)} of them yours, {cannot}"
    yield from (f"             {problem}" for problem in plan.broken.values())
    for name, dataset in plan.datasets.items():
        if dataset.folder:
            state = "is there" if path_of_user(dataset.folder).exists() else "is not there now"
            yield f"images       {name}: {dataset.folder} {state}"


def _packages(lock: Path) -> tuple[list[str], list[str], int]:
    """Packages of other versions than locked, those that are not installed, number of the rest."""
    locked = dict(
        re.findall(r"^([\w.-]+)==(\S+) ?(?!.*; )", lock.read_text(encoding="utf-8"), re.M)
    )
    differing, absent = [], []
    for name, version in locked.items():
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            absent.append(name)
            continue
        if installed != version:
            differing.append(f"{name} {installed}; locked: {version}")
    return differing, absent, len(locked) - len(differing) - len(absent)

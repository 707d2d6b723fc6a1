"""Results that no study uses any more, for example after an edit, and their size."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dmlbench.image_folder import AbsentError
from dmlbench.plan import paths
from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.combinations import combinations
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.run import ANY_FOLDER

_PATTERNS = (
    paths.RUN.format(run=ANY_FOLDER),
    paths.COMBINED.format(combination=ANY_FOLDER),
    paths.DATA.format(data="*-*"),
    paths.SEARCH.format(search="*"),
    paths.EXPERIMENT.format(experiment="*-*"),
)
"""Patterns of the folders of results."""


class Unused(NamedTuple):
    """A folder that no study uses.

    Attributes:
        bytes: of its files; a file with several hard links counts once.
    """

    folder: Path
    bytes: int


def unused(configuration: Configuration, folder: Path) -> list[Unused]:
    """Folders of results that no file of `studies/` uses, active or not.

    Args:
        configuration: config.yaml; in a rehearsal, the rehearsal's results are searched.
        folder: the folder that holds the catalogues and `studies/`.
    """
    plan = Plan(configuration.model_copy(update={"studies": None}), folder)
    plan.check_all_studies()
    results = Path(configuration.pathvars.results)
    named = set(_named(plan, results))
    return [
        Unused(path, _size(path))
        for pattern in _PATTERNS
        for path in sorted(results.glob(pattern))
        if path.is_dir() and path.relative_to(results).as_posix() not in named
    ]


def remove(folders: list[Unused]) -> None:
    """Remove folders, and parent folders that become empty."""
    for folder, _ in folders:
        shutil.rmtree(folder)
        for above in list(folder.parents)[:-1]:
            if any(above.iterdir()):
                break
            above.rmdir()


def report(folders: list[Unused]) -> list[str]:
    """One line per folder with its size, the largest first, and the sum."""
    lines = [
        f"{_in_words(size):>10}  {folder}"
        for folder, size in sorted(folders, key=lambda each: -each.bytes)
    ]
    total = _in_words(sum(size for _, size in folders))
    return [*lines, f"{total:>10}  in {len(folders)} folders that no study names"]


def _named(plan: Plan, results: Path) -> Iterator[str]:
    """Every folder below the results that the studies use."""
    for study in plan.studies:
        yield from (paths.RUN.format(run=run.folder) for run in plan.runs(study))
        for together in combinations(plan, study).values():
            yield paths.COMBINED.format(combination=together.folder)
    yield paths.RAW
    yield paths.DRAWN
    for dataset in plan.datasets:
        try:
            yield paths.DATA.format(data=plan.data(dataset).folder)
        except AbsentError:
            # Which of them is the one cannot be determined, so all are kept.
            for folder in results.glob(paths.DATA.format(data=f"{dataset}-*")):
                yield folder.relative_to(results).as_posix()
    for name in plan.searches:
        # Trials are kept by name, because a larger budget continues them.
        yield paths.SEARCH.format(search=name)
        yield paths.SEARCH.format(search=searches.folder(plan, name))
    for name, experiment in plan.experiments.items():
        yield paths.EXPERIMENT.format(experiment=experiment.folder(name))


def _size(folder: Path) -> int:
    files = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    sizes = {(stat.st_dev, stat.st_ino): stat.st_size for stat in map(os.lstat, files)}
    return sum(sizes.values())


def _in_words(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"

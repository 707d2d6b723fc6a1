"""The finished searches of a study in one file, small enough to publish with its scores.

Where they are unpacked, a call continues after them: it trains with the values that they found.

    python -m dmlbench.plan.published {pack|unpack} <study> ...
"""

import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.plan import paths, searches
from dmlbench.plan.plan import Plan

FOLDER, FILE = Path("results", "published"), "searches.tar.xz"


def finished_searches(plan: Plan, study: str) -> list[str]:
    """The folders of a study's finished searches, below the results, in the order of its rows."""
    names = dict.fromkeys(filter(None, map(plan.search_of, plan.rows(study))))
    folders = [searches.folder(plan, name) for name in names]
    results = Path(plan.configuration.pathvars.results)
    return [
        str(Path(best).parent)
        for best in (paths.made("search", "best", search=folder) for folder in folders)
        if (results / best).exists()
    ]


def pack(plan: Plan, study: str, output: Path) -> int:
    """Write a study's finished searches into one file.

    Returns:
        How many there are; nothing is written if there are none.

    Raises:
        UserError: there is no such study.
    """
    plan.study(study)
    results, folders = Path(plan.configuration.pathvars.results), finished_searches(plan, study)
    if folders:
        output.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(output) as unfinished, tarfile.open(unfinished, "w:xz") as archive:
            for folder in folders:
                archive.add(results / folder, folder, filter=_anonymous)
    return len(folders)


def unpack(file: Path, results: Path) -> int:
    """Put published searches into a folder of results; what is there already stays.

    Returns:
        How many files are new.

    Raises:
        UserError: there is no such file.
    """
    if not file.exists():
        raise UserError(f"{file}: missing; allowed: a study whose searches are published")
    results.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file) as archive:
        new = [each for each in archive if each.isfile() and not (results / each.name).exists()]
        archive.extractall(results, new, filter="data")
    return len(new)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member without who packed it; folders and files can be read by all."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _lines(command: str, studies: list[str]) -> Iterator[str]:
    values = yaml.safe_load(Path("config", "config.yaml").read_text())
    loaded = plan.load(values, Path("config"))
    for study in studies:
        file = FOLDER / study / FILE
        if command == "pack":
            yield f"{study}: {pack(loaded, study, file)} finished searches in {file}"
        else:
            new = unpack(file, Path(loaded.configuration.pathvars.results))
            yield f"{study}: {new} new files of searches from {file}"


if __name__ == "__main__":
    try:
        for line in _lines(sys.argv[1], sys.argv[2:]):
            print(line)
    except UserError as error:
        sys.exit(f"dmlbench: {error}")

"""The finished searches of a study in one file, small enough to publish with its scores.

Where they are unpacked, a call continues after them: it trains with the values that they found.

    python -m dmlbench.plan.records.published {pack|unpack} <study> ...
"""

import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.plan import paths
from dmlbench.plan.records import ran_on
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.specs.published_runs import FOLDER
from dmlbench.program import errors_in_one_line

FILE = "searches.tar.xz"


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
        UserError: there is no such file, or something else than searches in it.
    """
    if not file.exists():
        raise UserError(f"{file}: missing; allowed: a study whose searches are published")
    new = 0
    with tarfile.open(file) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            path = results / _checked(member.name, file)
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as unfinished:
                unfinished.write_bytes(archive.extractfile(member).read())
            os.utime(path, (member.mtime, member.mtime))
            new += 1
    return new


def _checked(name: str, file: Path) -> str:
    """The name of a packed file, which must be below the folder of searches."""
    first, *others = PurePosixPath(name).parts
    if first != "searches" or ".." in others:
        raise UserError(f"{file}: has the file {name}; allowed: files below searches/")
    return name


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member without who packed it; folders and files can be read by all."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _histories(plan: Plan, study: str) -> Iterator[Path]:
    results = Path(plan.configuration.pathvars.results)
    runs = (run.folder for run in plan.runs(study))
    return (results / paths.made("train", "history", run=run) for run in runs)


def _lines(command: str, studies: list[str]) -> Iterator[str]:
    loaded = plan.load_folder(Path("config"))
    for study in studies:
        file = FOLDER / study / FILE
        if command == "pack":
            ran_on.write(_histories(loaded, study), file.with_name(ran_on.FILE))
            yield f"{study}: {pack(loaded, study, file)} finished searches in {file}"
        else:
            new = unpack(file, Path(loaded.configuration.pathvars.results))
            yield f"{study}: {new} new files of searches from {file}"


if __name__ == "__main__":
    with errors_in_one_line():
        for line in _lines(sys.argv[1], sys.argv[2:]):
            print(line)

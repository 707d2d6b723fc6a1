"""No faults: what people do with results and clones; nothing may be said, and nothing made."""

import os
import random
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from laboratory import TARGETS, Broken, Lab, Outcome, contents

_LIBRARY = "workflow/scripts/dmlbench"


def harmless(lab: Lab, number: int, chance: random.Random) -> Outcome:
    """Three such things are done, in a moved copy of the project or in another clone."""
    names = [list(_HARMLESS)[(3 * number + each) % len(_HARMLESS)] for each in range(3)]
    is_clone = chance.random() < 0.5
    note = f"{', '.join(names)}; in {'another clone' if is_clone else 'a moved copy'}"
    with lab.broken(clone=is_clone) as broken:
        for name in names:
            _HARMLESS[name](broken, chance)
        expected = contents(broken.results)
        verified = broken.call("--", "verify")
        if verified.status or "toy: complete; " not in verified.text:
            return Outcome("silent", f"{note}: {verified.text[-500:]}")
        planned = broken.call("--dry-run", "--", *TARGETS)
        if planned.lines or "Nothing to be done" not in planned.text:
            return Outcome("silent", f"{note}: {planned.text[-500:]}")
        return lab.judged(broken, [verified, planned], note, expected)


def _files(broken: Broken, chance: random.Random) -> list[Path]:
    found = sorted(path for path in broken.results.rglob("*") if path.is_file())
    chance.shuffle(found)
    return found


def _copy_without_times(broken: Broken, chance: random.Random) -> None:
    copy = broken.folder / "copy"
    shutil.copytree(broken.results, copy, copy_function=shutil.copyfile)
    shutil.rmtree(broken.results)
    copy.rename(broken.results)
    for place, path in enumerate(_files(broken, chance)):
        os.utime(path, (1e9 + 60 * place,) * 2)


def _touch(broken: Broken, chance: random.Random) -> None:
    for path in _files(broken, chance):
        path.touch()


def _restore_a_backup(broken: Broken, chance: random.Random) -> None:
    backup = broken.folder / "backup.tar"
    with tarfile.open(backup, "w") as file:
        file.add(broken.results, "results")
    shutil.rmtree(broken.results)
    with tarfile.open(backup) as file:
        file.extractall(broken.folder, filter="tar")


def _change_the_umask(broken: Broken, chance: random.Random) -> None:
    for path in (*_files(broken, chance), *broken.results.rglob("*/")):
        path.chmod(path.stat().st_mode & ~0o077)


def _browse(broken: Broken, chance: random.Random) -> None:
    """Leave what file browsers and people leave in folders."""
    for folder in [*broken.results.rglob("*/")]:
        for name in (".DS_Store", "Thumbs.db", "desktop.ini"):
            (folder / name).write_bytes(bytes(8))
    for folder in ("", "studies", "studies/toy", "studies/toy/tables", "runs", "searches"):
        (broken.results / folder / "notes of mine.txt").write_text("Nothing.")


def _link(broken: Broken, chance: random.Random) -> None:
    """Move the results to another place, with a link to it where they were."""
    elsewhere = broken.folder / "elsewhere"
    broken.results.rename(elsewhere)
    broken.results.symlink_to(elsewhere)


def _comment(broken: Broken, chance: random.Random) -> None:
    for path in _texts(broken):
        with open(path, "a") as file:
            file.write("\n# A remark.\n")


def _check_out_on_windows(broken: Broken, chance: random.Random) -> None:
    for path in _texts(broken):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def _undo_an_edit(broken: Broken, chance: random.Random) -> None:
    path = broken.folder / "config/studies/toy.yaml"
    before = path.read_text()
    path.write_text(before.replace("seed: 0", "seed: 1"))
    broken.call("--dry-run", "--", *TARGETS)
    path.write_text(before)


def _texts(broken: Broken) -> list[Path]:
    """The library, catalogs and studies: other files of `config` are inputs, byte by byte."""
    library, config = broken.folder / _LIBRARY, broken.folder / "config"
    return [*library.rglob("*.py"), *config.glob("*.yaml"), *config.glob("studies/*.yaml")]


_HARMLESS: dict[str, Callable[[Broken, random.Random], None]] = {
    "copied without times": _copy_without_times,
    "visited by a file browser": _browse,
    "comments in code and catalogs": _comment,
    "touched": _touch,
    "another umask": _change_the_umask,
    "an edit undone": _undo_an_edit,
    "restored from a backup": _restore_a_backup,
    "a link to the results": _link,
    "line ends of Windows": _check_out_on_windows,
}

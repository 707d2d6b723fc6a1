"""The user's own folders, and the losses in them, which are found as those of the library are."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path

PACKAGES = ("losses",)
"""The packages that a folder of the user may add to, each in a folder of its name."""

_CHECKOUT = Path(__file__).resolve().parents[3]
_in_use: dict[str, list[Path]] = {}


def own_folders(patterns: Iterable[str]) -> list[Path]:
    """The user's folders that are there, in the order of the patterns and of their names.

    Args:
        patterns: from the working folder, such as `own/*`; `~` is home.
    """
    found = (
        path for pattern in patterns for path in sorted(glob.glob(os.path.expanduser(pattern)))
    )
    return [Path(path) for path in dict.fromkeys(found) if Path(path).is_dir()]


def use(folders: Iterable[Path]) -> None:
    """Find parts in these folders, instead of those of `own/` next to the workflow."""
    folders = [folder.resolve() for folder in folders]
    for package in PACKAGES:
        there = [folder / package for folder in folders]
        _in_use[package] = [folder for folder in there if folder.is_dir()]


def files_of(package: str) -> list[Path]:
    """The files of a package in the folders of the user; none of an installed library."""
    if not _in_use:
        use(own_folders([f"{_CHECKOUT}/own/*"]))
    return [file for folder in _in_use.get(package, []) for file in sorted(folder.glob("*.py"))]

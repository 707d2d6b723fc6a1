"""Lists that come with data sets, and the members that they name."""

import io
import posixpath
from collections.abc import Iterable

import pandas
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from dmlbench.data.archives import DAMAGED, Archive
from dmlbench.data.layouts.subset_folders import SUBSETS
from dmlbench.errors import UserError

Place = tuple[Archive, str]
"""An archive and the name of a member of it."""


def find(archives: list[Archive], name: str) -> Place | None:
    """The member of this file name, in any folder; None if there is none.

    Raises:
        UserError: two of them.
    """
    places = [
        (archive, member)
        for archive in archives
        for member in archive.members
        if posixpath.basename(member) == name
    ]
    if len(places) > 1:
        named = " and ".join(f"{archive.name}: {member}" for archive, member in places[:2])
        raise UserError(f"{name} is there more than once: {named}; allowed: one")
    return places[0] if places else None


def need(archives: list[Archive], name: str, layout: str) -> Place:
    """As `find`, but a UserError if there is none."""
    place = find(archives, name)
    if place is None:
        raise UserError(f"{where(archives)}: no {name}, which the layout {layout} needs")
    return place


def lines(place: Place) -> list[str]:
    """The nonempty lines of a text list."""
    archive, member = place
    text = archive.read(member).decode("utf-8", errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def words(place: Place, columns: list[str], skip: int = 0) -> pandas.DataFrame:
    """The words of a text list's lines, as text; the last column takes the rest of its line.

    Args:
        skip: lines of header.

    Raises:
        UserError: a line with fewer words than columns.
    """
    archive, member = place
    rows = [line.split(maxsplit=len(columns) - 1) for line in lines(place)[skip:]]
    for row in rows:
        if len(row) < len(columns):
            raise UserError(
                f"{archive.path}: {member}: the line {' '.join(row)!r} has {len(row)} words; "
                f"expected {len(columns)}: {', '.join(columns)}"
            )
    return pandas.DataFrame(rows, columns=columns)


def structs(place: Place) -> dict:
    """The variables of a MATLAB file, arrays of one element as that element.

    Raises:
        UserError: the member is not a MATLAB file of version 5.
    """
    archive, member = place
    try:
        return loadmat(io.BytesIO(archive.read(member)), squeeze_me=True)
    except (*DAMAGED, MatReadError, TypeError, KeyError) as error:
        raise UserError(f"{archive.path}: {member} is not a MATLAB file: {error}") from error


def places_of(paths: Iterable[str], archives: list[Archive], layout: str) -> pandas.DataFrame:
    """Where the images of a list are: columns archive and member, one row per path.

    The listed paths may be below any folder, but the same one for all of them, and written as other
    systems do: `./a/0.png`, `a\\0.png`.

    Raises:
        UserError: a listed image is not in any archive.
    """
    held = {
        posixpath.normpath(member): (archive.name, member)
        for archive in archives
        for member in archive.images()
    }
    paths = list(paths)
    listed = {path: path if path in held else _plain(path) for path in paths}
    top = _top(set(listed.values()), held)
    absent = [path for path in paths if top + listed[path] not in held]
    if absent:
        raise UserError(
            f"{where(archives)}: {len(absent)} of {len(paths)} images that the layout {layout} "
            f"lists are absent, {absent[0]!r} among them"
        )
    found = [held[top + listed[path]] for path in paths]
    return pandas.DataFrame(found, columns=["archive", "member"])


def subsets_of(table: pandas.DataFrame, where: str) -> pandas.Series:
    """The subset of each row of a list: its role, else its split, else `all`.

    Raises:
        UserError: an unknown one, or subsets of some rows only.
    """
    empty = pandas.Series("", index=table.index)
    split, role = (table.get(column, empty).str.lower() for column in ("split", "role"))
    said = role.where(role != "", split)
    if (said == "").all():
        return said.replace("", "all")
    strange = sorted(set(said) - set(SUBSETS))
    if strange:
        raise UserError(
            f"{where}: {(said == strange[0]).sum()} rows have the split or role {strange[0]!r}; "
            f"allowed: {', '.join(SUBSETS)}"
        )
    return said.map(SUBSETS)


def where(archives: list[Archive]) -> str:
    """The archives' paths, for messages."""
    return ", ".join(str(archive.path) for archive in archives)


def _plain(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


def _top(listed: set[str], held: Iterable[str]) -> str:
    """What precedes the listed paths in the members' names; '' if no name ends in a listed path."""
    for member in held:
        cuts = [0, *(place + 1 for place, sign in enumerate(member) if sign == "/")]
        for cut in cuts:
            if member[cut:] in listed:
                return member[:cut]
    return ""

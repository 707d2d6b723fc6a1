"""The folders that images are in."""

import posixpath

from dmlbench.data.archives import Archive
from dmlbench.errors import UserError


def in_folders(archives: list[Archive]) -> list[tuple[str, str, str]]:
    """(archive, member, folder) of every image.

    The folder's name is relative to the deepest folder that holds all images of its archive.

    Raises:
        UserError: an image is not in a folder.
    """
    rows = []
    for archive in archives:
        images = archive.images()
        folders = {member: posixpath.normpath(posixpath.dirname(member)) for member in images}
        for member, folder in folders.items():
            if folder == ".":
                raise UserError(f"{archive.path}: {member!r} is not in a class folder")
        parents = {posixpath.dirname(folder) for folder in folders.values()}
        root = posixpath.commonpath(parents) if parents else ""
        for member, folder in folders.items():
            rows.append((archive.name, member, posixpath.relpath(folder, root or ".")))
    return rows

"""The folders that images are in."""

import posixpath

from dmlbench.data.archives import Archive
from dmlbench.errors import UserError


def in_folders(archives: list[Archive]) -> list[tuple[str, str, str]]:
    """(archive, member, folder) of every image.

    The folder is what differs: it is named below the deepest folder that holds all of them in its
    archive.

    Raises:
        UserError: an image that lies in no folder.
    """
    found = []
    for archive in archives:
        images = archive.images()
        folders = {member: posixpath.normpath(posixpath.dirname(member)) for member in images}
        for member, folder in folders.items():
            if folder == ".":
                raise UserError(f"{archive.path}: {member!r} lies in no class folder")
        parents = {posixpath.dirname(folder) for folder in folders.values()}
        root = posixpath.commonpath(parents) if parents else ""
        for member, folder in folders.items():
            found.append((archive.name, member, posixpath.relpath(folder, root or ".")))
    return found

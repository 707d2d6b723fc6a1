"""A folder of class folders, in one archive or several, or on disk."""

import posixpath

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._rows import rows
from dmlbench.errors import UserError


class ClassFolders:
    """The class of an image is its folder, below the deepest folder that holds all classes.

    Folders of one name in several archives are one class. Classes are labelled in alphabetical
    order; the subset is 'all'.

    Raises:
        UserError: an image that lies in no class folder.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
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
                class_name = posixpath.relpath(folder, root or ".")
                found.append((archive.name, member, class_name, "all"))
        return rows(found, ["all"])

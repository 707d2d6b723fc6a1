"""Nested folders, the uppermost of which are the classes."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._folders import in_folders
from dmlbench.data.layouts._rows import rows

IMAGES_ONLY = True


class TopFolders:
    """The class of an image is the uppermost folder that it is in: 'rose/2019' belongs to 'rose'.

    That is the first one below the deepest folder that holds all images. Classes are labeled in
    alphabetical order; the subset is 'all'.

    Raises:
        UserError: an image is not in a folder.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = [
            (archive, member, folder.partition("/")[0], "all")
            for archive, member, folder in in_folders(archives)
        ]
        return rows(images, ["all"])

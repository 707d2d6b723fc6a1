"""Nested folders, each of them a class."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._folders import in_folders
from dmlbench.data.layouts._rows import rows

IMAGES_ONLY = True


class EveryFolder:
    """The class of an image is the path of its folder: 'greek/alpha' and 'latin/a' are two.

    Paths begin below the deepest folder that holds all images. Classes are labeled in alphabetical
    order; the subset is 'all'.

    Raises:
        UserError: an image is not in a folder.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        return rows([(*image, "all") for image in in_folders(archives)], ["all"])

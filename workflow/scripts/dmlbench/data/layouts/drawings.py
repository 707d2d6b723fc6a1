"""Drawings: a folder per class, in it one picture per designer."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts.class_folders import ClassFolders

IMAGES_ONLY = True


class Drawings:
    """Classes as `class_folders` has them; the index also has who drew each picture.

    Raises:
        UserError: as `class_folders`.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        index = ClassFolders()(archives)
        names = index["member"].str.split("/").str[-1]
        return index.assign(designer=names.str.rpartition(".")[0])

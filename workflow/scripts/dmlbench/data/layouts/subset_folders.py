"""Class folders in folders such as train and test."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._folders import in_folders
from dmlbench.data.layouts._rows import rows
from dmlbench.errors import UserError

IMAGES_ONLY = True

SUBSETS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
    "query": "query",
    "gallery": "gallery",
}
"""A folder's name -> the subset of its images, a role of the split `official`."""

ORDER = ["train", "validation", "test", "query", "gallery"]


class SubsetFolders:
    """The class of an image is the folder below that of its subset: 'train/rose', 'test/rose'.

    A class that two subsets share has one label. Classes are labeled in the order of subsets
    (train, validation, test, query, gallery), then in alphabetical order.

    Raises:
        UserError: an image is not in a class folder, or a folder is not a subset.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = []
        for archive, member, folder in in_folders(archives):
            subset, _, below = folder.partition("/")
            if subset.lower() not in SUBSETS or not below:
                raise UserError(
                    f"{archive}: {member!r} is not in a class folder of a subset; "
                    f"allowed: <subset>/<class>/<image> with {', '.join(SUBSETS)}"
                )
            images.append((archive, member, below.partition("/")[0], SUBSETS[subset.lower()]))
        return rows(images, ORDER)

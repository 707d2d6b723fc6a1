"""A folder of class folders, in one archive or several, or on disk."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._folders import in_folders
from dmlbench.data.layouts._rows import rows
from dmlbench.data.layouts.subset_folders import SUBSETS
from dmlbench.errors import UserError

IMAGES_ONLY = True


class ClassFolders:
    """The class of an image is its folder, below the deepest folder that holds all classes.

    Folders of one name in several archives are one class. Classes are labeled in alphabetical
    order; the subset is 'all'.

    Raises:
        UserError: an image is not in a class folder, or there are nested folders, which are
            ambiguous: the message names the layouts that decide.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = in_folders(archives)
        nested = sorted({folder for _, _, folder in images if "/" in folder})
        if nested:
            where = ", ".join(str(archive.path) for archive in archives)
            raise UserError(f"{where}: {_ambiguity(nested, {folder for _, _, folder in images})}")
        return rows([(*image, "all") for image in images], ["all"])


def _ambiguity(nested: list[str], folders: set[str]) -> str:
    """What nested folders may mean, and the layouts that decide."""
    tops = {folder.partition("/")[0] for folder in folders}
    each = "`layout: every_folder` (each of them is a class)"
    if all(top.lower() in SUBSETS for top in tops) and len(nested) == len(folders):
        listed = " and ".join(map(repr, sorted(tops)))
        return (
            f"its folders are {listed}, so {nested[0]!r} and {nested[-1]!r} would be two classes; "
            "allowed: `layout: subset_folders` (the class is the folder below, with its subset for "
            f"a split `official` or, of shared classes, `official_closed`) or {each}"
        )
    top = nested[0].partition("/")[0]
    return (
        f"has folders in folders: {nested[0]!r} and {len(nested) - 1} more; allowed: `layout: "
        f"top_folders` (they belong to the class {top!r} and the like) or {each}"
    )

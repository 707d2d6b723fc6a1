"""In-Shop Clothes (DeepFashion): 7,982 pieces, listed in list_eval_partition.txt."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import need, places_of, words
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError

_SUBSETS = ("train", "query", "gallery")


class Inshop:
    """A class is a piece of clothing (`id_00000001`); the subset is its evaluation status.

    Images in the order of the list, training images first. Labels number the pieces in this order,
    so training pieces come before those of queries and gallery.

    Source: Liu, Luo, Qiu, Wang and Tang, CVPR 2016.

    Raises:
        UserError: the list is missing, has a status other than train, query and gallery, or names a
            missing image.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        place = need(archives, "list_eval_partition.txt", "inshop")
        listed = words(place, ["path", "class_name", "subset"], skip=2)
        strange = sorted(set(listed["subset"]) - set(_SUBSETS))
        if strange:
            raise UserError(
                f"{place[0].path}: {place[1]}: status {strange[0]!r}; allowed: "
                f"{', '.join(_SUBSETS)}"
            )
        order = (listed["subset"] != "train").sort_values(kind="stable").index
        listed = listed.loc[order].reset_index(drop=True)
        places = places_of(listed["path"], archives, "inshop")
        label = pandas.factorize(listed["class_name"])[0].astype("int32")
        return pandas.concat([places, listed], axis=1).assign(label=label)[COLUMNS]

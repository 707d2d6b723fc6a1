"""Stanford Online Products: 22,634 products, listed in Ebay_train.txt and Ebay_test.txt."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import need, places_of, words
from dmlbench.data.layouts._rows import COLUMNS

_COLUMNS = ["image_id", "class_id", "super_class_id", "path"]


class Sop:
    """Images in the order of Ebay_train.txt, then of Ebay_test.txt; the list is the subset.

    Labels are the official classes, from 0; the class name is the super-class's folder with the
    class (`bicycle_final/1`).

    Source: Song, Xiang, Jegelka and Savarese, CVPR 2016.

    Raises:
        UserError: a list is missing, or names an image that is not there.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        listed = pandas.concat(
            [
                words(need(archives, f"Ebay_{subset}.txt", "sop"), _COLUMNS, skip=1).assign(
                    subset=subset
                )
                for subset in ("train", "test")
            ],
            ignore_index=True,
        )
        places = places_of(listed["path"], archives, "sop")
        return places.assign(
            label=listed["class_id"].astype("int32") - 1,
            class_name=listed["path"].str.split("/").str[0] + "/" + listed["class_id"],
            subset=listed["subset"],
        )[COLUMNS]

"""CUB-200-2011: 200 species of birds, listed in images.txt and image_class_labels.txt."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import need, places_of, where, words
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError


class Cub200:
    """Images in the order of images.txt; labels are the official classes, from 0.

    The class name is the folder (`001.Black_footed_Albatross`), the subset that of the official
    split of images, whose subsets share their classes.

    Source: Wah, Branson, Welinder, Perona and Belongie, CNS-TR-2011-001.

    Raises:
        UserError: a list is missing, or names other images than another list or the archive.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = _list(archives, "images.txt", "path")
        labels = _list(archives, "image_class_labels.txt", "class_id")
        trains = _list(archives, "train_test_split.txt", "is_training_image")
        for other in (labels, trains):
            differing = set(other.index) ^ set(images.index)
            if differing:
                raise UserError(
                    f"{where(archives)}: images.txt and the list of {other.name} name different "
                    f"images, {min(differing)!r} among them"
                )
        places = places_of("images/" + images, archives, "cub200")
        return places.assign(
            label=labels[images.index].astype("int32").to_numpy() - 1,
            class_name=images.str.split("/").str[0].to_numpy(),
            subset=trains[images.index].map({"1": "train", "0": "test"}).to_numpy(),
        )[COLUMNS]


def _list(archives: list[Archive], name: str, column: str) -> pandas.Series:
    return words(need(archives, name, "cub200"), ["image_id", column]).set_index("image_id")[column]

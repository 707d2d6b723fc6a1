"""FGVC-Aircraft: 100 variants of aircraft, listed in images_variant_<subset>.txt."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import lines, need, places_of, where, words
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError

_SUBSETS = {"train": "train", "val": "validation", "test": "test"}


class FgvcAircraft:
    """A class is a variant; labels follow variants.txt.

    Images in the order of images_variant_train.txt, _val.txt and _test.txt; the list is the
    subset. The subsets share their classes; train and val together are the official trainval.

    Source: Maji, Kannala, Rahtu, Blaschko and Vedaldi, arXiv 1306.5151.

    Raises:
        UserError: a list is missing, names an unknown variant or an image that is not there.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        names = lines(need(archives, "variants.txt", "fgvc_aircraft"))
        label_of = {name: label for label, name in enumerate(names)}
        listed = pandas.concat(
            [
                words(
                    need(archives, f"images_variant_{name}.txt", "fgvc_aircraft"),
                    ["image", "class_name"],
                ).assign(subset=subset)
                for name, subset in _SUBSETS.items()
            ],
            ignore_index=True,
        )
        strange = sorted(set(listed["class_name"]) - set(names))
        if strange:
            raise UserError(
                f"{where(archives)}: variant {strange[0]!r} of an image is not in variants.txt"
            )
        places = places_of("images/" + listed["image"] + ".jpg", archives, "fgvc_aircraft")
        label = listed["class_name"].map(label_of).astype("int32")
        return pandas.concat([places, listed], axis=1).assign(label=label)[COLUMNS]

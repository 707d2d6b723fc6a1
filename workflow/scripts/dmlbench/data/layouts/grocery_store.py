"""Grocery Store as published: 81 fine classes, listed in train.txt, val.txt and test.txt."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import lines, need, places_of, where
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError

_SUBSETS = {"train": "train", "val": "validation", "test": "test"}


class GroceryStore:
    """Fine classes by their official numbers; each has its images in the order of `grocery`.

    The official subsets share their classes: the split is closed.

    Source: Klasson, Zhang and Kjellstrom, WACV 2019.

    Raises:
        UserError: a list is missing, has a line without its three values, or names an image that
            is absent or a class that classes.csv lacks.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        _, *classes = lines(need(archives, "classes.csv", "grocery_store"))
        names = {number: name for name, number, *_ in (line.split(",") for line in classes)}
        rows = []
        for listed, subset in _SUBSETS.items():
            for line in lines(need(archives, f"{listed}.txt", "grocery_store")):
                path, number, *_ = (*map(str.strip, line.split(",")), "")
                if number not in names:
                    raise UserError(
                        f"{where(archives)}: {listed}.txt: {line!r}; allowed: a path, a class of "
                        "classes.csv and a coarse class, separated by commas"
                    )
                name = path.rpartition("/")[2]
                rows.append((int(number), f"{listed}_{name}", path, names[number], subset))
        columns = ["label", "order", "path", "class_name", "subset"]
        frame = pandas.DataFrame(sorted(rows), columns=columns)
        places = places_of(frame["path"], archives, "grocery_store")
        frame = frame.assign(**places).astype({"label": "int32"})
        return frame[COLUMNS]

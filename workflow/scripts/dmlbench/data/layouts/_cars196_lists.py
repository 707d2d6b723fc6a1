"""The lists and the images' names of Cars196's layouts, as tables."""

import re
from pathlib import PurePosixPath

import numpy as np
import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._lists import Place, find, lines, structs, where
from dmlbench.errors import UserError

WRITTEN_WITHOUT_SLASH = {"Ram C-V Cargo Van Minivan 2012": "Ram C/V Cargo Van Minivan 2012"}
"""Folder -> name of the only class whose name cannot be a folder's."""

_BOX = {"bbox_x1": "x1", "bbox_y1": "y1", "bbox_x2": "x2", "bbox_y2": "y2"}
_FOLDERS = {"cars_train": "train", "train": "train", "cars_test": "test", "test": "test"}
_LISTS = {
    "train": ("cars_train_annos.mat", "anno_train.csv"),
    "test": ("cars_test_annos_withlabels.mat", "anno_test.csv"),
}


def images(archives: list[Archive]) -> pandas.DataFrame:
    """The images: archive, member, number, and the numbering that it belongs to.

    The numbering is 'all' (six digits, 1 to 16,185), 'train' or 'test' (five digits).
    """
    rows = []
    for archive in archives:
        for member in archive.images():
            path = PurePosixPath(member)
            if re.fullmatch(r"\d{6}", path.stem):
                rows.append((archive.name, member, int(path.stem), "all"))
            elif re.fullmatch(r"\d{5}", path.stem):
                folders = [_FOLDERS[part] for part in path.parts[:-1] if part in _FOLDERS]
                if folders:
                    rows.append((archive.name, member, int(path.stem), folders[-1]))
    table = pandas.DataFrame(rows, columns=["archive", "member", "number", "numbering"])
    twice = table[table.duplicated(["number", "numbering"])]
    if len(twice):
        raise UserError(
            f"{where(archives)}: {twice['member'].iloc[0]!r} has the number of another image"
        )
    return table


def official(place: Place) -> pandas.DataFrame:
    """cars_annos.mat: number, label (from 0), class_name, subset and box, in its order."""
    file = structs(place)
    names = np.atleast_1d(_variable(file, "class_names", place)).astype(str)
    table = _annotations(file, place, "relative_im_path")
    tests = np.atleast_1d(file["annotations"])["test"].astype(int)
    return table.assign(
        class_name=names[table["label"]], subset=np.where(tests == 1, "test", "train")
    )


def boxes(archives: list[Archive]) -> pandas.DataFrame:
    """The lists of both subsets: subset, number, label (from 0) and box."""
    tables = []
    for subset, names in _LISTS.items():
        place = next((place for name in names if (place := find(archives, name))), None)
        if place is None:
            raise UserError(
                f"{where(archives)}: neither {' nor '.join(names)}; the layout cars196 "
                "needs one of them"
            )
        is_csv = place[1].endswith(".csv")
        table = _csv(place) if is_csv else _annotations(structs(place), place, "fname")
        tables.append(table.assign(subset=subset))
    return pandas.concat(tables, ignore_index=True)


def _annotations(file: dict, place: Place, path: str) -> pandas.DataFrame:
    rows = np.atleast_1d(_variable(file, "annotations", place))
    wanted = {*_BOX, "class", path}
    if not wanted <= set(rows.dtype.names or ()):
        missing = min(wanted - set(rows.dtype.names or ()))
        raise UserError(f"{place[0].path}: {place[1]}: annotations has no field {missing!r}")
    columns = {name: rows[field].astype(int) for field, name in _BOX.items()}
    numbers = [int(PurePosixPath(name).stem) for name in rows[path].astype(str)]
    label = rows["class"].astype("int32") - 1
    return pandas.DataFrame({"number": numbers, "label": label, **columns})


def _csv(place: Place) -> pandas.DataFrame:
    """Lines of file name, x1, y1, x2, y2 and class, without a header."""
    rows = [line.split(",") for line in lines(place)]
    numbers = [(int(PurePosixPath(row[0]).stem), *map(int, row[1:6])) for row in rows]
    table = pandas.DataFrame(numbers, columns=["number", *_BOX.values(), "label"])
    return table.assign(label=table["label"].astype("int32") - 1)


def _variable(file: dict, name: str, place: Place) -> np.ndarray:
    if name not in file:
        raise UserError(f"{place[0].path}: {place[1]}: no variable {name!r}")
    return file[name]

"""Cars196: 196 models of cars, in the official layouts and as class folders."""

from typing import Annotated

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts import _cars196_lists as lists
from dmlbench.data.layouts._lists import find, where
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError
from dmlbench.values import Added, CountOrZero, Part

_BOX = ["x1", "y1", "x2", "y2"]
_WHOLE, _FIRST_98 = 16_185, 8_054


class Cars196(Part):
    """Images in the order of the official list, cars_annos.mat, whatever the layout.

    The layouts are recognized by the images' names, and give the same index except for the columns
    archive and member:

    - `car_ims/000001.jpg` with cars_annos.mat (car_ims.tgz; CARS196.zip holds both);
    - `cars_train/00001.jpg` and `cars_test/00001.jpg` with cars_annos.mat, cars_train_annos.mat
      and cars_test_annos_withlabels.mat. No official list says which image is which of car_ims:
      an image is recognized by its subset, class and bounding box; of two images that share all
      three, either may be taken for the other;
    - `train/<class>/00001.jpg` and `test/<class>/00001.jpg` with cars_annos.mat, anno_train.csv
      and anno_test.csv, in the same way;
    - `<class>/000001.jpg` without a list. Here classes are numbered in the order of their first
      images, which is the official order (not the alphabetical one); the subset is 'all'.

    Labels are the official classes, from 0. The subsets share their classes.

    Args:
        margin: cut each car out by its official box with this margin, in pixels, as far as the
            photograph has one; None keeps the whole photograph. The first pixel has number 1 in a
            box, and its right and bottom are in it.

    Source: Krause, Stark, Deng and Fei-Fei, 3dRR 2013.

    Raises:
        UserError: an unknown layout, a missing list, images that differ from the lists, or 16,185
            images whose first 98 classes do not have 8,054.
    """

    margin: Annotated[CountOrZero | None, Added()] = None

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        images = lists.images(archives)
        official = find(archives, "cars_annos.mat")
        if images.empty:
            raise UserError(
                f"{where(archives)}: no image of the layout cars196; allowed: 000001.jpg, or "
                "00001.jpg below cars_train, cars_test, train or test"
            )
        if official:
            rows = _by_list(lists.official(official), images, archives)
        elif (images["numbering"] == "all").all() and self.margin is None:
            rows = _by_folder(images, archives)
        else:
            raise UserError(
                f"{where(archives)}: no cars_annos.mat, which orders the images of the layout "
                "cars196 and has their boxes; CARS196.zip holds it too"
            )
        _check_halves(rows, archives)
        rows = rows.reset_index(drop=True)
        if self.margin is None:
            return rows[COLUMNS]
        sides = {"left": rows["x1"] - 1, "top": rows["y1"] - 1, "right": rows["x2"]}
        return rows[COLUMNS].assign(**sides, bottom=rows["y2"], margin=self.margin)


def _by_list(
    official: pandas.DataFrame, images: pandas.DataFrame, archives: list[Archive]
) -> pandas.DataFrame:
    if (images["numbering"] == "all").any():
        listed = official.merge(images[images["numbering"] == "all"], how="left", on="number")
    else:
        boxes = lists.boxes(archives).merge(
            images.rename(columns={"numbering": "subset"}), how="left", on=["subset", "number"]
        )
        listed = _joined(official, boxes, archives)
    absent = listed["member"].isna()
    if absent.any():
        raise UserError(
            f"{where(archives)}: {absent.sum()} of {len(official)} images of cars_annos.mat are "
            f"absent, number {listed.loc[absent, 'number'].iloc[0]} among them"
        )
    return listed


def _joined(
    official: pandas.DataFrame, boxes: pandas.DataFrame, archives: list[Archive]
) -> pandas.DataFrame:
    """The official list with the archive and member of the same subset, class and box."""
    key = ["subset", "label", *_BOX]
    # Two images of one class have equal boxes: either order gives the same rows except for the
    # members.
    turn = [*key, "turn"]
    official = official.assign(turn=official.groupby(key).cumcount())
    boxes = boxes.assign(turn=boxes.groupby(key).cumcount())
    joined = official.merge(boxes[[*turn, "archive", "member"]], how="left", on=turn)
    if len(boxes) != len(official):
        raise UserError(
            f"{where(archives)}: cars_annos.mat lists {len(official)} images, the lists of the "
            f"subsets {len(boxes)}"
        )
    return joined


def _by_folder(images: pandas.DataFrame, archives: list[Archive]) -> pandas.DataFrame:
    rows = images.sort_values("number", ignore_index=True)
    folder = rows["member"].str.split("/").str[-2]
    if folder.isna().any():
        member = rows.loc[folder.isna(), "member"].iloc[0]
        raise UserError(
            f"{where(archives)}: {member!r} is not in a class folder, and there is no "
            "cars_annos.mat"
        )
    class_name = folder.astype("str").replace(lists.WRITTEN_WITHOUT_SLASH)
    label = pandas.factorize(class_name)[0].astype("int32")
    return rows.assign(label=label, class_name=class_name, subset="all")


def _check_halves(rows: pandas.DataFrame, archives: list[Archive]) -> None:
    # CARS196.zip has no published hash; the sizes of the halves identify it.
    first = int((rows["label"] < 98).sum())
    if len(rows) == _WHOLE and first != _FIRST_98:
        raise UserError(
            f"{where(archives)}: the first 98 classes have {first} images; expected {_FIRST_98}"
        )

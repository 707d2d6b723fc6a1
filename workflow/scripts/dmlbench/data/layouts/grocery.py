"""Grocery Store: 81 fine classes of food, listed in the zip's own index.csv."""

import pandas

from dmlbench.data.archives import Archive
from dmlbench.data.layouts._rows import COLUMNS
from dmlbench.errors import UserError

_INDEX = "grocery81/index.csv"


class Grocery:
    """Class, label and subset of each photograph as index.csv gives them.

    The official subsets share their classes: the split is closed.

    Source: Klasson, Zhang and Kjellstrom, WACV 2019.

    Raises:
        UserError: no index.csv, or it does not list the images of the archive.
    """

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        return pandas.concat([_rows_of(archive) for archive in archives], ignore_index=True)


def _rows_of(archive: Archive) -> pandas.DataFrame:
    if _INDEX not in archive.members:
        raise UserError(f"{archive.path}: no {_INDEX}, which the layout grocery needs")
    with archive.open(_INDEX) as file:
        listed = pandas.read_csv(file)
    frame = pandas.DataFrame(
        {
            "archive": archive.name,
            "member": "grocery81/" + listed["path"],
            "label": listed["class_id"].astype("int32"),
            "class_name": listed["class_name"],
            "subset": listed["official_split"].replace({"val": "validation"}),
        }
    )
    differing = set(frame["member"]) ^ set(archive.images())
    if differing:
        raise UserError(
            f"{archive.path}: {_INDEX} and the archive differ in {len(differing)} images, "
            f"{min(differing)!r} among them"
        )
    return frame.sort_values(["label", "member"], ignore_index=True)[COLUMNS]

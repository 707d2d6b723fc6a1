"""Images of a list, CSV or Parquet, which says the class of each."""

import io
import re
from typing import Annotated

import pandas
import pyarrow as pa

from dmlbench.data.archives import DAMAGED, Archive
from dmlbench.data.layouts._lists import need, places_of, subsets_of
from dmlbench.data.layouts._rows import rows
from dmlbench.data.layouts.subset_folders import ORDER
from dmlbench.errors import UserError, check_known
from dmlbench.text_table import text_table
from dmlbench.values import Added, Part

IMAGES_ONLY = True
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SIDES = ("left", "top", "right", "bottom")


class Listed(Part):
    """Each row of the list is an image: its path and its class; other images are left out.

    Paths are relative to the folder. A row without a class is left out, so that one list may have a
    column of classes for each of several tasks, one data set each. The subset is 'all' unless the
    list has a column `split` (train, val, test and the like) or, for queries that search other
    images, a column `role` (query, gallery), which takes precedence where it is not empty.

    Args:
        file: name of the list, in the folder or archive of the images; .csv (separated by commas,
            semicolons or tabs, with a header) or .parquet.
        path: the column of paths.
        label: the column of classes.
        box: the column of boxes: left, top, right and bottom of what is cut out, in pixels of the
            upright image, right and bottom excluded; an empty one stands for the whole image.
        group: the column of groups, such as recordings, whose images a split keeps together; an
            image with an empty one is in none.

    Raises:
        UserError: no such list or column, an image that is absent or listed twice, an unknown
            subset, subsets of some rows only, a box without four numbers.
    """

    file: str = "labels.csv"
    path: str = "path"
    label: str = "label"
    box: Annotated[str | None, Added()] = None
    group: Annotated[str | None, Added()] = None

    def __call__(self, archives: list[Archive]) -> pandas.DataFrame:
        place = need(archives, self.file, "listed")
        where = f"{place[0].path}: {place[1]}"
        table = _read(place[0].read(place[1]), where)
        named = filter(None, (self.path, self.label, self.box, self.group))
        check_known(where, "column", named, table.columns)
        table = table[table[self.label] != ""].assign(subset=subsets_of(table, where))
        places = places_of(table[self.path], archives, "listed")
        again = list(table.loc[places.duplicated().to_numpy(), self.path])
        if again:
            raise UserError(
                f"{where}: {len(again)} images are listed again, {again[0]!r} among them; allowed: "
                "one row per image"
            )
        images = zip(
            places["archive"], places["member"], table[self.label], table["subset"], strict=True
        )
        index = rows(list(images), ["all", *ORDER])
        extra = self._extra(table, where)
        extra.index = pandas.MultiIndex.from_frame(places)
        return index.join(extra, on=["archive", "member"])

    def _extra(self, table: pandas.DataFrame, where: str) -> pandas.DataFrame:
        """Boxes and groups of the rows, if columns are named for them."""
        extra = pandas.DataFrame(index=table.index)
        if self.box:
            boxes = [_box(text, where) for text in table[self.box]]
            extra[list(_SIDES)] = pandas.DataFrame(boxes, table.index, _SIDES, dtype=float)
        if self.group:
            extra["group"] = table[self.group]
        return extra


def _box(text: str, where: str) -> list[float | None]:
    """The four numbers of a box, whatever separates them; missing for an empty text."""
    numbers = [float(number) for number in _NUMBER.findall(text)]
    if text and len(numbers) != len(_SIDES):
        raise UserError(f"{where}: box {text!r}; allowed: four numbers, {', '.join(_SIDES)}")
    return numbers or [None] * len(_SIDES)


def _read(data: bytes, where: str) -> pandas.DataFrame:
    """A list as text, '' for missing values."""
    if not where.endswith(".parquet"):
        return pandas.DataFrame(text_table(data, where), dtype=object)
    try:
        table = pandas.read_parquet(io.BytesIO(data))
    except (*DAMAGED, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{where}: not Parquet: {reason}") from error
    return table.astype(object).where(table.notna(), "").map(str)

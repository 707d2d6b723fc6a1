"""The index of a data set: one row per image, read from its archives in place."""

import contextlib
import logging
from pathlib import Path

import pandas
import pyarrow as pa

from dmlbench import registry
from dmlbench.data import _images, _tables
from dmlbench.data.archives import DAMAGED, Archive, open_all
from dmlbench.errors import UserError
from dmlbench.parquet import read_table

SCHEMA = pa.schema(
    {
        "image_id": pa.int64(),
        "archive": pa.string(),
        "member": pa.string(),
        "label": pa.int32(),
        "class_name": pa.string(),
        "subset": pa.string(),
        "width": pa.int32(),
        "height": pa.int32(),
    }
)

_NAMED = 3
_log = logging.getLogger(__name__)


def index(
    archives: list[Path],
    layout: str,
    output: Path,
    images: int | None = None,
    classes: int | None = None,
) -> None:
    """Write the index of a data set to Parquet.

    Columns: image_id (int64, the row's number), archive (file name), member, label (int32),
    class_name, subset, width and height (pixels, of the upright image, from its header). The
    metadata hold size and sha256 of each archive and a digest of the rows.

    Args:
        archives: zips, tars or folders.
        layout: a file of `data/layouts`.
        output: the Parquet file to write.
        images, classes: expected numbers; None if unknown.

    Raises:
        UserError: a damaged or unsafe archive, an image without a readable header, numbers other
            than the expected ones, no image at all.
    """
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(archive) for archive in open_all(archives)]
        rows = registry.build("data/layouts", layout)(opened)
        _check_counts(rows, layout, archives, images, classes)
        rows = _with_sizes(rows, opened)
        digests = {archive.name: archive.digest() for archive in opened}
    rows.insert(0, "image_id", range(len(rows)))
    _tables.write(rows, SCHEMA, {"layout": layout, "archives": digests}, output)


def read_index(path: Path) -> pandas.DataFrame:
    """The rows of an index, in the order of image_id."""
    return read_table(path).to_pandas()


def _check_counts(
    rows: pandas.DataFrame,
    layout: str,
    archives: list[Path],
    images: int | None,
    classes: int | None,
) -> None:
    where = ", ".join(str(path) for path in archives)
    if rows.empty:
        raise UserError(f"{where}: no image found with the layout {layout}")
    for what, expected, found in (
        ("images", images, len(rows)),
        ("classes", classes, rows["label"].nunique()),
    ):
        if expected is not None and found != expected:
            raise UserError(f"{where}: expected {expected} {what}, found {found}")


def _with_sizes(rows: pandas.DataFrame, archives: list[Archive]) -> pandas.DataFrame:
    sizes, damaged = {}, []
    wanted = set(zip(rows["archive"], rows["member"], strict=True))
    for archive in archives:
        for member in archive.members:
            if (archive.name, member) not in wanted:
                continue
            try:
                with archive.open(member) as file:
                    sizes[archive.name, member] = _images.size(file)
            except DAMAGED as error:
                damaged.append(f"{archive.name}: {member}: {error}")
    refuse_damaged(damaged)
    ordered = [sizes[key] for key in zip(rows["archive"], rows["member"], strict=True)]
    return rows.assign(
        width=[width for width, _ in ordered], height=[height for _, height in ordered]
    )


def refuse_damaged(damaged: list[str]) -> None:
    """Log every damaged image and raise a UserError that names the first few."""
    if not damaged:
        return
    for image in damaged:
        _log.error("damaged image %s", image)
    more = f"; and {len(damaged) - _NAMED} more in the log" if len(damaged) > _NAMED else ""
    noun = "image" if len(damaged) == 1 else "images"
    raise UserError(f"{len(damaged)} damaged {noun}: {'; '.join(damaged[:_NAMED])}{more}")

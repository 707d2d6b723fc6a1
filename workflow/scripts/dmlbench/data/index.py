"""The index of a data set: one row per image, read from its archives in place."""

import contextlib
import hashlib
import io
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa

from dmlbench import registry
from dmlbench.data import _images, _tables
from dmlbench.data.archives import DAMAGED, Archive, open_all
from dmlbench.errors import UserError
from dmlbench.files import digest
from dmlbench.image_folder import (
    counts,
    identity,
    lists_of,
    mark,
    mark_of_archive,
    matrix_next_to,
    readable,
)
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
        "sha256": pa.string(),
    }
)

BOX = ("left", "top", "right", "bottom")
"""Columns of the box that is cut out of an image, in pixels; data without boxes lack them."""

_OF_SOME = pa.schema(
    [
        *((side, pa.int32()) for side in BOX),
        ("group", pa.string()),
        ("designer", pa.string()),
        ("row", pa.int64()),
    ]
)
"""Columns that only some layouts have: lists that name them, drawings, and vectors."""

_NAMED = 3
_log = logging.getLogger(__name__)


def index(
    archives: list[Path],
    layout: str,
    output: Path,
    images: int | None = None,
    classes: int | None = None,
    images_sha256: str | None = None,
    contents: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write the index of a data set to Parquet.

    Columns: image_id (int64, the row's number), archive (file name), member, label (int32),
    class_name, subset, width and height (pixels, of the upright image, from its header), sha256 (of
    the image's file); of lists that name boxes and groups, also left, top, right, bottom (int32)
    and group; of drawings, designer; of vectors, row (of the matrix). The metadata hold size and
    sha256 of each archive, a digest of the rows, and what `described` has found besides the rows.

    Args:
        archives: zips, tars or folders.
        layout: a file of `data/layouts`.
        output: the Parquet file to write.
        images, classes: expected numbers; None if unknown.
        images_sha256: expected digest of the SHA-256 of all images, a line each; None if unknown.
        contents: the identity of a user's folder that is expected; None for other archives.
        options: of the layout.

    Raises:
        UserError: a damaged or unsafe archive, an image without a readable header, numbers or
            images other than the expected ones, no image at all, a folder that has changed since
            the plan.
    """
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(archive) for archive in open_all(archives)]
        rows = registry.build("data/layouts", layout, **(options or {}))(opened)
        _check_counts(rows, layout, archives, images, classes)
        rows, findings = described(rows, opened)
        found = hashlib.sha256("\n".join(rows["sha256"]).encode()).hexdigest()
        if images_sha256 not in (None, found):
            where = ", ".join(map(str, archives))
            raise UserError(
                f"{where}: other images than expected: digest {found[:16]}, not "
                f"{images_sha256[:16]}"
            )
        digests = {archive.name: archive.digest() for archive in opened}
        if contents is not None:
            _check_same(opened[0], rows, lists_of(layout, options or {}), contents)
    rows.insert(0, "image_id", range(len(rows)))
    facts = {"layout": layout, "archives": digests, "found": findings}
    own = [field for field in _OF_SOME if field.name in rows]
    _tables.write(rows, pa.schema([*SCHEMA, *own]), facts, output)


def described(
    rows: pandas.DataFrame, archives: list[Archive]
) -> tuple[pandas.DataFrame, dict[str, dict | int]]:
    """Read every image of a layout's rows, without decoding it.

    Vectors without pictures have a digest already, and no width or height.

    Returns:
        The rows with width, height and sha256, and every box in pixels. What else was found:
        `left_out` (reason -> number of files and some of their names), `links`, `turned` (number of
        images that are not stored upright) and `depths` (bits of a value -> number of images).

    Raises:
        UserError: images that cannot be read, boxes that are not in their images.
    """
    if "sha256" in rows:
        return rows.assign(width=0, height=0), {"left_out": {}, "depths": {}}
    sizes, digests, damaged, stored = {}, {}, [], Counter()
    wanted = set(zip(rows["archive"], rows["member"], strict=True))
    for archive in archives:
        for member in archive.held({name for of, name in wanted if of == archive.name}):
            key = (archive.name, member)
            try:
                data = archive.read(member)
                sizes[key] = _images.size(io.BytesIO(data))
                stored[_images.storage(io.BytesIO(data))] += 1
                digests[key] = hashlib.sha256(data).hexdigest()
            except DAMAGED as error:
                damaged.append(f"{archive.name}: {member}: {error}")
    refuse_damaged(damaged)
    keys = list(zip(rows["archive"], rows["member"], strict=True))
    rows = rows.assign(
        width=[sizes[key][0] for key in keys],
        height=[sizes[key][1] for key in keys],
        sha256=[digests[key] for key in keys],
    )
    rows = _in_pixels(rows)
    depths = Counter()
    for each, count in stored.items():
        depths[str(each.depth)] += count
    return rows, {
        "left_out": _left_out(archives, wanted),
        "links": sum(archive.links for archive in archives),
        "turned": sum(count for each, count in stored.items() if each.turned),
        "depths": dict(sorted(depths.items())),
    }


def _in_pixels(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The rows with whole boxes that are in their images; a missing one is the whole image.

    A margin is added to a box as far as its image has one.
    """
    if BOX[0] not in rows:
        return rows
    whole = pandas.DataFrame(
        {"left": 0, "top": 0, "right": rows["width"], "bottom": rows["height"]}
    )
    boxes = rows[list(BOX)].fillna(whole).round().astype("int32")
    if "margin" in rows:
        growth = rows["margin"].to_numpy()[:, None] * np.array([-1, -1, 1, 1])
        limits = whole.assign(left=whole["right"], top=whole["bottom"])[list(BOX)]
        boxes = (boxes + growth).clip(lower=0).clip(upper=limits)
    fits = (boxes[["left", "top"]] >= 0).all(axis=1)
    fits &= (boxes["right"] <= rows["width"]) & (boxes["bottom"] <= rows["height"])
    fits &= (boxes["left"] < boxes["right"]) & (boxes["top"] < boxes["bottom"])
    if not fits.all():
        first = rows[~fits].iloc[0]
        box = " ".join(map(str, boxes[~fits].iloc[0]))
        raise UserError(
            f"{first['member']}: box {box}, one of {(~fits).sum()} that are not in their images; "
            f"allowed: left < right up to {first['width']}, top < bottom up to {first['height']}"
        )
    return rows.assign(**boxes)


def _left_out(archives: list[Archive], used: set[tuple[str, str]]) -> dict[str, dict]:
    """Reason -> number of files that are not used for it, and some of their names."""
    by_reason: dict[str, list[str]] = {}
    for archive in archives:
        for name, why in archive.not_used().items():
            by_reason.setdefault(why, []).append(readable(name))
        for name in archive.images():
            if (archive.name, name) not in used:
                by_reason.setdefault("not in the layout's list", []).append(name)
    return {
        why: {"count": len(names), "names": sorted(names)[:_NAMED]}
        for why, names in sorted(by_reason.items())
    }


def check_contents(path: Path, matrix: str | None, contents: str) -> None:
    """Raise a UserError if a list of vectors, or its matrix, is not what the plan has read."""
    with Archive(path) as archive:
        _check_same(archive, pandas.DataFrame(), matrix, contents)


def _check_same(archive: Archive, rows: pandas.DataFrame, lists: str | None, contents: str) -> None:
    if _contents(rows, archive, lists) != contents:
        raise UserError(
            f"{archive.path}: has changed since this call began; run the same command again"
        )


def _contents(rows: pandas.DataFrame, archive: Archive, lists: str | None) -> str:
    """The identity of a user's folder from the bytes that were read; see `plan.specs.contents`."""
    if not archive.path.is_dir():
        content = {".": archive.digest()["sha256"] + mark_of_archive(archive.members)}
        if matrix := matrix_next_to(archive.path, lists):
            content[lists] = digest(matrix)
        return identity(content)
    read = dict(zip(rows["member"], rows["sha256"], strict=True))
    counted = [name for name in archive.members if counts(name, lists)]
    contents = {}
    for name in counted:
        path, linked = archive.path / name, name in archive.in_linked_folders
        contents[name] = (read.get(name) or digest(path)) + mark(name, path, linked=linked)
    return identity(contents)


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
    for what, expected, actual in (
        ("images", images, len(rows)),
        ("classes", classes, rows["label"].nunique()),
    ):
        if expected is not None and actual != expected:
            raise UserError(f"{where}: expected {expected} {what}, found {actual}")


def refuse_damaged(damaged: list[str]) -> None:
    """Log every damaged image and raise a UserError that names the first few."""
    if not damaged:
        return
    for image in damaged:
        _log.error("damaged image %s", image)
    more = f"; and {len(damaged) - _NAMED} more in the log" if len(damaged) > _NAMED else ""
    noun = "image" if len(damaged) == 1 else "images"
    raise UserError(f"{len(damaged)} damaged {noun}: {'; '.join(damaged[:_NAMED])}{more}")

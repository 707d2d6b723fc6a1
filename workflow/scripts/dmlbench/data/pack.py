"""Packed pixels: every image decoded and resized once, in one file that all trainings map."""

import hashlib
import io
import logging
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas
import PIL
import pyarrow as pa

from dmlbench import provenance
from dmlbench.data import _images, _tables
from dmlbench.data._images import Box, Size
from dmlbench.data.archives import DAMAGED, Archive, open_all
from dmlbench.data.index import BOX, read_index, refuse_damaged
from dmlbench.errors import UserError, unknown
from dmlbench.files import atomic_write

SCHEMA = pa.schema(
    {
        "image_id": pa.int64(),
        "offset": pa.int64(),
        "height": pa.int32(),
        "width": pa.int32(),
        "channels": pa.int32(),
        "converted": pa.string(),
        "crc32": pa.uint32(),
    }
)

_DECODED_AT_ONCE = 256
_USED_OF_16_BITS = 2**12
_log = logging.getLogger(__name__)


class _Prepared(NamedTuple):
    """Pixels uint8 [H, W, C], how they were converted, and the largest value of 16 bits."""

    pixels: np.ndarray
    converted: str | None
    peak: int | None


def pack(
    index: Path,
    archives: list[Path],
    size: int | None,
    mode: str,
    pixels: Path,
    table: Path,
    threads: int = 1,
    reduced_to: Size | None = None,
) -> None:
    """Decode the images of an index, cut them out if it has boxes, and resize them, once.

    The pixels are one flat uint8 .npy; an image is the H x W x C values from its offset on. The
    colors of a pixel are adjacent, the layout in which networks and resampling are fastest. The
    table has the columns image_id, offset (bytes from the first pixel), height, width, channels and
    converted (its original mode, such as CMYK, L or I;16, and whether EXIF data rotated it; missing
    for an unchanged image) and crc32 (of its pixels), in the order of image_id; its metadata hold
    the sha256 of all pixels, Pillow's version, the size, the mode and the digest of the index's
    rows. Of 16-bit values the upper 8 bits are kept; transparency is dropped.

    Args:
        index: Parquet file of `dmlbench.data.index.index`.
        archives: the archives that it names.
        size: pixels of the shorter side after an antialiased bilinear resize; None keeps the
            images as they are.
        mode: 'gray' or 'rgb'.
        pixels: the .npy to write.
        table: the Parquet file to write.
        threads: decoding threads; they do not change the result.
        reduced_to: what images are resized to before that, as another encoding of the data set
            has them: the shorter side, or width and height.

    Raises:
        UserError: a bad size or mode, a missing archive, damaged images (the first few are named,
            all are in the log), images that have changed since they were indexed, images of 16 bits
            that use at most 12 of them, a full disk.
        DamagedError: an indexed image is missing or another one, because an archive is not the one
            that was recorded.
    """
    if mode not in _images.MODES:
        raise unknown("pixel mode", mode, _images.MODES)
    if size is not None and size < 1:
        raise UserError(f"pack: size is {size}; allowed: 1 or more, or null")
    prepare = partial(_prepare, size=size, mode=mode, reduced_to=reduced_to)
    rows = read_index(index)
    with ExitStack() as stack:
        opened = [stack.enter_context(archive) for archive in open_all(archives)]
        _check_archives(rows, opened, index)
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        unfinished = stack.enter_context(atomic_write(pixels))
        with open(unfinished, "wb") as file:
            images = _prepared(rows, opened, prepare, pool)
            packed, sha256 = _write(_with_used_depth(images, archives), file)
        facts = {"pixels_sha256": sha256, "pillow": PIL.__version__, "size": size, "mode": mode}
        facts["index_sha256"] = _tables.table_facts(index)["rows_sha256"]
        _log_converted(packed)
        _tables.write(packed.sort_values("image_id"), SCHEMA, facts, table)


def _write(
    images: Iterable[tuple[int, tuple[np.ndarray, str | None]]], file: IO[bytes]
) -> tuple[pandas.DataFrame, str]:
    """Write the images one after another; returns their table and the digest of the pixels."""
    digest, offset, packed = hashlib.sha256(), 0, []
    _write_header(file, 0)
    for image_id, (image, converted) in images:
        file.write(image.data)
        digest.update(image.data)
        height, width, channels = image.shape
        crc32 = zlib.crc32(image.data)
        packed.append((image_id, offset, height, width, channels, converted, crc32))
        offset += image.nbytes
    _write_header(file, offset)
    file.flush()
    os.fsync(file.fileno())
    return pandas.DataFrame(packed, columns=SCHEMA.names), digest.hexdigest()


def _write_header(file: IO[bytes], length: int) -> None:
    # NumPy pads the header, so its size does not depend on the length.
    file.seek(0)
    np.lib.format.write_array_header_1_0(
        file, {"descr": "|u1", "fortran_order": False, "shape": (length,)}
    )


def _log_converted(packed: pandas.DataFrame) -> None:
    counts = Counter(packed["converted"].dropna())
    if counts:
        kinds = "; ".join(f"{count} {kind}" for kind, count in counts.most_common())
        _log.warning("converted %d of %d images: %s", counts.total(), len(packed), kinds)


def _with_used_depth(
    images: Iterable[tuple[int, _Prepared]], archives: list[Path]
) -> Iterator[tuple[int, tuple[np.ndarray, str | None]]]:
    """The images; at their end, an error if those of 16 bits hold values of at most 12."""
    largest = None
    for image_id, image in images:
        if image.peak is not None:
            largest = max(largest or 0, image.peak)
        yield image_id, (image.pixels, image.converted)
    if largest is not None and 0 < largest < _USED_OF_16_BITS:
        raise UserError(
            f"{archives[0]}: no value in the images of 16 bits is above {largest}, so the upper 8 "
            "bits, which are kept, would be almost black; allowed: images of 8 bits, or values up "
            "to 65535"
        )


def _prepared(
    rows: pandas.DataFrame, archives: list[Archive], prepare: Callable, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, _Prepared]]:
    """Image id and prepared image, in the order of the images in the archives."""
    keys = zip(rows["archive"], rows["member"], strict=True)
    indexed = rows["sha256"] if "sha256" in rows else [None] * len(rows)
    boxes = [None] * len(rows)
    if BOX[0] in rows:
        boxes = list(rows[list(BOX)].itertuples(index=False, name=None))
    known = dict(zip(keys, zip(rows["image_id"], indexed, boxes, strict=True), strict=True))
    damaged = []
    for archive in archives:
        members = archive.held({name for of, name in known if of == archive.name})
        for start in range(0, len(members), _DECODED_AT_ONCE):
            chunk = members[start : start + _DECODED_AT_ONCE]
            read = [_attempt(archive.read, member) for member in chunk]
            for member, data in zip(chunk, read, strict=True):
                _check_content(data, known[archive.name, member][1], archive, member)
            cut = [known[archive.name, member][2] for member in chunk]
            for member, result in zip(chunk, pool.map(prepare, read, cut), strict=True):
                if isinstance(result, Exception):
                    damaged.append(f"{archive.name}: {member}: {result}")
                else:
                    yield int(known[archive.name, member][0]), result
    refuse_damaged(damaged)


def _check_content(
    data: bytes | Exception, indexed: str | None, archive: Archive, member: str
) -> None:
    """Refuse other bytes than were indexed; indices of earlier versions do not say which."""
    if isinstance(data, bytes) and indexed and hashlib.sha256(data).hexdigest() != indexed:
        # Of a file that was downloaded or drawn, the record says that it is another one.
        provenance.check(archive.path)
        raise UserError(
            f"{archive.path}: {member} has changed since it was indexed; run the same command again"
        )


def _prepare(data: bytes | Exception, box: Box | None, **packed_as) -> _Prepared | Exception:
    """An encoded image as it is packed, or what is wrong with it."""
    return data if isinstance(data, Exception) else _attempt(_decoded, data, box, packed_as)


def _decoded(data: bytes, box: Box | None, packed_as: dict) -> _Prepared:
    pixels, converted = _images.packed(io.BytesIO(data), box=box, **packed_as)
    of_16_bits = converted is not None and converted.startswith("I;16")
    return _Prepared(pixels, converted, _images.peak(io.BytesIO(data)) if of_16_bits else None)


def _attempt(function: Callable, *arguments):
    """The function's result, or the error that says that the image is damaged."""
    try:
        return function(*arguments)
    except DAMAGED as error:
        return error


def _check_archives(rows: pandas.DataFrame, archives: list[Archive], index: Path) -> None:
    held = {
        (archive.name, member)
        for archive in archives
        for member in archive.held(set(rows["member"]))
    }
    for archive, member in zip(rows["archive"], rows["member"], strict=True):
        if (archive, member) not in held:
            for each in archives:
                provenance.check(each.path)
            given = ", ".join(archive.name for archive in archives)
            raise UserError(f"{index} names {archive}: {member}, which is not in {given}")

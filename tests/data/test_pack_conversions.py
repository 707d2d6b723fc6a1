"""Unusual images: converted and listed, or refused with one line."""

import io
import logging
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pandas
import pytest
from dmlbench.data import archives
from dmlbench.data.archives import DAMAGED, Archive
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.pixels import Pixels
from dmlbench.errors import UserError
from PIL import Image, ImageOps
from stores import images_of, is_as_packed


def saved(image, suffix, **options):
    buffer = io.BytesIO()
    image.save(buffer, suffix, **options)
    return buffer.getvalue()


def colored(mode="RGB"):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def packed(folder, members, mode="rgb"):
    """The store and the table of a zip of {name: bytes}."""
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for name, data in members.items():
            archive.writestr(f"x/{name}", data)
    index([folder / "a.zip"], "class_folders", folder / "index")
    pack(folder / "index", [folder / "a.zip"], None, mode, folder / "p.npy", folder / "t.parquet")
    rows = pandas.read_parquet(folder / "t.parquet")
    rows["name"] = pandas.read_parquet(folder / "index")["member"].str.removeprefix("x/")
    return Pixels(folder / "p.npy", folder / "t.parquet"), rows.set_index("name")


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


DEEP = np.random.default_rng(1).integers(0, 2**16, (6, 5), dtype=np.uint16)
MEMBERS = {
    "plain.jpg": (saved(colored(), "JPEG"), None),
    "grey.png": (saved(colored("L"), "PNG"), "L"),
    "bits.png": (saved(colored("1"), "PNG"), "1"),
    "print.jpg": (saved(colored("CMYK"), "JPEG"), "CMYK"),
    "video.tif": (saved(colored("YCbCr"), "TIFF"), "YCbCr"),
    "palette.gif": (saved(colored("P"), "GIF"), "P"),
    "glass.png": (saved(colored("RGBA"), "PNG"), "RGBA"),
    "deep.png": (saved(Image.fromarray(DEEP), "PNG"), "I;16"),
    "side.jpg": (saved(colored(), "JPEG", exif=turned(6)), "turned"),
    "both.jpg": (saved(colored("L"), "JPEG", exif=turned(3)), "L, turned"),
}


def test_what_was_converted_is_listed_and_logged(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        store, rows = packed(tmp_path, {name: data for name, (data, _) in MEMBERS.items()})
    for name, (data, converted) in MEMBERS.items():
        listed = rows.loc[name, "converted"]
        assert (None if pandas.isna(listed) else listed) == converted, name
        if name == "deep.png":
            expected = np.repeat((DEEP // 256).astype(np.uint8)[..., None], 3, axis=2)
        else:
            upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
            expected = np.asarray(upright.convert("RGB"))
        found = images_of(store, [rows.loc[name, "image_id"]])[0].permute(1, 2, 0)
        assert np.array_equal(found, expected), name
    (record,) = caplog.records
    assert record.getMessage().startswith("converted 9 of 10 images: 1 ")
    assert "1 CMYK" in record.getMessage()


def test_sixteen_bits_in_big_endian_keep_their_upper_eight(tmp_path):
    tiff = saved(Image.fromarray(DEEP.astype(">u2")), "TIFF")
    store, rows = packed(tmp_path, {"deep.tif": tiff}, "gray")
    assert rows["converted"].tolist()[0].startswith("I;16")
    assert np.array_equal(images_of(store, [0])[0, 0], DEEP // 256)


def test_nothing_converted_is_nothing_logged(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        _, rows = packed(tmp_path, {"grey.png": MEMBERS["grey.png"][0]}, "gray")
    assert rows["converted"].isna().all()
    assert caplog.records == []


def png_that_claims(width, height):
    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(100))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def test_an_image_that_claims_absurd_sizes_is_refused_before_it_takes_memory(tmp_path):
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"^1 damaged image: a\.zip: x/1\.png: .* exceeds"):
            packed(tmp_path, {"1.png": png_that_claims(60_000, 60_000)})
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert not (tmp_path / "p.npy").exists()


def lying_zip(path, name, claimed, real):
    """A zip with a member of `real` zeros whose headers claim `claimed` bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(real))
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<I", real), struct.pack("<I", claimed)))
    return path


def test_a_member_larger_than_it_claims_is_refused_and_takes_no_memory(tmp_path):
    with Archive(lying_zip(tmp_path / "a.zip", "x/1.png", 1_000, 50_000_000)) as archive:
        tracemalloc.start()
        try:
            with pytest.raises(DAMAGED, match="Bad CRC"):
                archive.read("x/1.png")
            assert tracemalloc.get_traced_memory()[1] < 2e6
        finally:
            tracemalloc.stop()


def test_a_member_smaller_than_it_claims_is_refused(tmp_path):
    with (
        Archive(lying_zip(tmp_path / "a.zip", "x/1.png", 5_000, 1_000)) as archive,
        pytest.raises(DAMAGED, match="not a file of 5000 bytes, as its header claims"),
    ):
        archive.read("x/1.png")


def test_a_member_that_claims_too_much_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_MEMBER", 999)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/1.txt", bytes(1_000))
    with (
        Archive(tmp_path / "a.zip") as archive,
        pytest.raises(DAMAGED, match="claims 1000 bytes; allowed: up to 999"),
    ):
        archive.read("x/1.txt")


def test_a_store_that_may_only_be_read_is_enough(tmp_path):
    folder = tmp_path / "read_only"
    folder.mkdir()
    store, _ = packed(folder, {"1.png": saved(colored(), "PNG"), "2.png": saved(colored(), "PNG")})
    expected = images_of(store, [0, 1])
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    try:
        store = Pixels(folder / "p.npy", folder / "t.parquet")
        images = images_of(store, [0, 1])
        assert np.array_equal(images, expected)
        images.zero_()
        assert is_as_packed(folder / "p.npy", folder / "t.parquet")
        index([folder / "a.zip"], "class_folders", tmp_path / "index")
    finally:
        folder.chmod(0o755)

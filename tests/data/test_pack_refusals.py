"""Packing what is damaged, or where there is no room: one line, and nothing is left."""

import errno
import io
import logging

import numpy as np
import pytest
from dmlbench import files, provenance
from dmlbench.data import pack as pack_module
from dmlbench.data.index import index
from dmlbench.errors import DamagedError, UserError
from layout_archives import write_zip
from packing import Made, encoded, output_files
from PIL import Image
from stores import is_as_packed


def cut(data):
    return data[: len(data) - 40]


def test_damaged_images_are_named_with_their_archive_and_all_logged(tmp_path, caplog):
    members = {f"x/{n}.jpg": cut(encoded(40, 40, suffix="JPEG", seed=n)) for n in range(5)}
    members["x/whole.jpg"] = encoded(40, 40, suffix="JPEG")
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(UserError, match=r"^5 damaged images: a\.zip: x/0\.jpg.*and 2 more"),
    ):
        Made(tmp_path, members)
    assert [f"x/{n}.jpg" in record.getMessage() for n, record in enumerate(caplog.records)] == (
        [True] * 5
    )
    assert output_files(tmp_path) == []


@pytest.mark.parametrize("suffix", ["PNG", "JPEG", "GIF", "TIFF", "WEBP"])
def test_a_truncated_image_of_any_format_is_refused(tmp_path, suffix):
    data = encoded(60, 60, suffix=suffix)
    with pytest.raises(UserError, match=r"damaged image: a\.zip: x/1\.png"):
        Made(tmp_path, {"x/1.png": data[: len(data) // 2], "x/2.png": encoded(5, 5)})
    assert output_files(tmp_path) == []


def test_a_member_whose_bytes_were_changed_is_refused(tmp_path):
    data = encoded(40, 40, suffix="BMP")
    archive = write_zip(tmp_path / "a.zip", {"x/1.bmp": data})
    damaged = bytearray(archive.read_bytes())
    damaged[len(data) - 100] ^= 1
    archive.write_bytes(damaged)
    with pytest.raises(UserError, match=r"x/1\.bmp: Bad CRC"):
        Made(tmp_path, None, archive=archive)


def test_pixels_without_a_range_are_refused(tmp_path):
    buffer = io.BytesIO()
    Image.fromarray(np.ones((4, 4), np.float32)).save(buffer, "TIFF")
    with pytest.raises(UserError, match="mode F have no fixed range"):
        Made(tmp_path, {"x/1.tif": buffer.getvalue()})


def test_bad_arguments_say_what_is_allowed(tmp_path):
    with pytest.raises(UserError, match="allowed: gray, rgb"):
        Made(tmp_path, {"x/1.png": encoded(5, 5)}, mode="grey")
    with pytest.raises(UserError, match="size is 0; allowed: 1 or more"):
        Made(tmp_path, {"x/1.png": encoded(5, 5)}, size=0)


def test_an_archive_that_lacks_an_image_of_the_index_is_refused(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(5, 5)})
    other = write_zip(tmp_path / "b.zip", {"x/1.png": encoded(5, 5)})
    with pytest.raises(UserError, match=r"names a\.zip: x/1\.png, which is not in b\.zip"):
        pack_module.pack(tmp_path / "index", [other], None, "rgb", made.pixels, made.table)


@pytest.mark.parametrize("member", ["x/1.png", "y/1.png"])
def test_an_archive_that_is_not_the_recorded_one_is_named(tmp_path, member):
    made = Made(tmp_path, {"x/1.png": encoded(5, 5)})
    digests = {made.archive.name: provenance.digest(made.archive)}
    provenance.write(provenance.Record("download", digests, {}, "", ""), tmp_path)
    write_zip(made.archive, {member: encoded(5, 5, seed=1)})
    with pytest.raises(DamagedError, match=r"a\.zip: damaged or incomplete .*download recorded"):
        pack_module.pack(tmp_path / "index", [made.archive], None, "rgb", made.pixels, made.table)


@pytest.mark.parametrize("lost", [1, 100, 10**6])
def test_truncated_pixels_are_detected_on_opening(tmp_path, lost):
    made = Made(tmp_path, {f"x/{n}.png": encoded(9, 9, seed=n) for n in range(4)})
    data = made.pixels.read_bytes()
    made.pixels.write_bytes(data[: max(0, len(data) - lost)])
    with pytest.raises(UserError, match=r"pixels\.npy: damaged or incomplete"):
        made.open()


def test_pixels_of_another_table_are_detected(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(9, 9)})
    np.save(made.pixels, np.zeros(7, np.uint8))
    with pytest.raises(UserError, match=r"expected 243 uint8 pixels by pixels\.parquet, found"):
        made.open()


def test_changed_pixels_fail_the_check(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(9, 9)})
    data = bytearray(made.pixels.read_bytes())
    data[-1] ^= 1
    made.pixels.write_bytes(data)
    assert not is_as_packed(made.pixels, made.table)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_line_that_names_the_file_and_leaves_nothing(
    tmp_path, monkeypatch, number
):
    def full(images, file):
        file.write(b"some")
        raise OSError(number, "no space")

    monkeypatch.setattr(pack_module, "_write", full)
    with pytest.raises(UserError, match=r"pixels\.npy: the disk is full"):
        Made(tmp_path, {"x/1.png": encoded(5, 5)})
    assert output_files(tmp_path) == []


def test_a_disk_that_fills_up_at_the_table_leaves_no_pixels(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space")

    archive = write_zip(tmp_path / "a.zip", {"x/1.png": encoded(5, 5)})
    index([archive], "class_folders", tmp_path / "index")
    monkeypatch.setattr("dmlbench.parquet.pq.write_table", full)
    with pytest.raises(UserError, match=r"t\.parquet: the disk is full"):
        pack_module.pack(
            tmp_path / "index",
            [archive],
            None,
            "rgb",
            tmp_path / "out" / "p.npy",
            tmp_path / "out" / "t.parquet",
        )
    assert output_files(tmp_path) == []


def test_control_c_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(pack_module, "_prepare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Made(tmp_path, {"x/1.png": encoded(5, 5)})
    assert output_files(tmp_path) == []


def test_other_errors_of_the_disk_keep_their_words(tmp_path):
    with (
        pytest.raises(OSError, match="input/output"),
        files.atomic_write(tmp_path / "out" / "file"),
    ):
        raise OSError(errno.EIO, "input/output")
    assert output_files(tmp_path) == []

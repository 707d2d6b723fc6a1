"""Packed pixels: training gets what Pillow decodes, and damage is always detected."""

import errno
import io
import logging
import zipfile
import zlib

import numpy as np
import pandas
import PIL
import pyarrow.parquet as pq
import pytest
import torch
from dmlbench import files
from dmlbench.data import _tables
from dmlbench.data import pack as pack_module
from dmlbench.data.index import index
from dmlbench.data.pixels import Pixels
from dmlbench.errors import UserError
from layout_archives import write_tar, write_zip
from PIL import Image, ImageOps
from stores import images_of, is_as_packed
from torchvision.transforms import functional as F


def encoded(width, height, mode="RGB", suffix="PNG", seed=0, **options):
    channels = {"RGB": 3, "L": 1, "CMYK": 4, "RGBA": 4}[mode]
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, channels))
    image = Image.fromarray(pixels.astype(np.uint8).squeeze(), mode)
    buffer = io.BytesIO()
    image.save(buffer, suffix, **options)
    return buffer.getvalue()


class Made:
    """An archive, its index and its pack, in one folder."""

    def __init__(self, folder, members, size=None, mode="rgb", archive=None, **options):
        self.folder = folder
        self.archive = archive or write_zip(folder / "a.zip", members)
        index([self.archive], "class_folders", folder / "index")
        self.pixels, self.table = folder / "out" / "pixels.npy", folder / "out" / "pixels.parquet"
        pack_module.pack(
            folder / "index", [self.archive], size, mode, self.pixels, self.table, **options
        )

    def open(self):
        return Pixels(self.pixels, self.table)


def output_files(folder):
    out = folder / "out"
    return sorted(path.name for path in out.iterdir()) if out.exists() else []


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK", "RGBA"])
@pytest.mark.parametrize("wanted", ["rgb", "gray"])
@pytest.mark.parametrize("size", [None, 8, 30])
def test_pixels_are_those_of_pillow_and_torchvision(tmp_path, mode, wanted, size):
    data = encoded(20, 13, mode, "TIFF")
    made = Made(tmp_path, {"x/1.tif": data}, size, wanted)
    image = Image.open(io.BytesIO(data)).convert({"rgb": "RGB", "gray": "L"}[wanted])
    expected = F.pil_to_tensor(F.resize(image, size) if size else image)
    assert torch.equal(images_of(made.open(), [0])[0], expected)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["JPEG", "PNG"])
def test_images_are_upright(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(7, 4, suffix=suffix, exif=exif)
    pixels = Made(tmp_path, {"x/1.png": data}).open()
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    assert np.array_equal(images_of(pixels, [0])[0].permute(1, 2, 0), expected)
    rows = pandas.read_parquet(tmp_path / "index")
    assert rows.loc[0, ["height", "width"]].tolist() == list(expected.shape[:2])


def test_images_of_one_size_come_in_the_order_asked_for(tmp_path):
    members = {f"x/{number}.png": encoded(5, 5, "L", seed=number) for number in range(6)}
    pixels = Made(tmp_path, members, mode="gray").open()
    assert pixels.shape == (1, 5, 5)
    assert len(pixels) == 6
    wanted = [4, 0, 4, 2]
    expected = [np.asarray(Image.open(io.BytesIO(members[f"x/{n}.png"]))) for n in wanted]
    for ids in (wanted, np.array(wanted), torch.tensor(wanted)):
        images = images_of(pixels, ids)
        assert images.dtype == torch.uint8
        assert np.array_equal(images[:, 0], np.stack(expected))
    assert images_of(pixels, []).shape == (0, 1, 5, 5)


def test_a_batch_is_a_copy_that_leaves_the_file_alone(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(5, 5)})
    pixels = made.open()
    images_of(pixels, [0]).zero_()
    assert is_as_packed(made.pixels, made.table)


def test_images_of_several_sizes_keep_theirs(tmp_path):
    members = {"x/1.png": encoded(9, 6), "x/2.png": encoded(6, 9), "x/3.png": encoded(9, 6, seed=1)}
    pixels = Made(tmp_path, members).open()
    assert pixels.shape is None
    assert [image.shape for image in pixels.batch([1, 0])] == [(3, 9, 6), (3, 6, 9)]
    with pytest.raises(UserError, match="no image has the id 3"):
        pixels.batch([0, 3])


def test_the_table_says_where_and_how(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(9, 6), "x/2.png": encoded(4, 4)}, 4, "rgb")
    flat = np.load(made.pixels).tobytes()
    assert pq.read_table(made.table).to_pydict() == {
        "image_id": [0, 1],
        "offset": [0, 3 * 4 * 6],
        "height": [4, 4],
        "width": [6, 4],
        "channels": [3, 3],
        "converted": [None, None],
        "crc32": [zlib.crc32(pixels) for pixels in (flat[:72], flat[72:])],
    }
    facts = _tables.table_facts(made.table)
    assert (facts["pillow"], facts["size"], facts["mode"]) == (PIL.__version__, 4, "rgb")
    assert np.load(made.pixels).shape == (3 * 4 * 6 + 3 * 4 * 4,)


def test_archive_order_and_threads_do_not_change_an_image(tmp_path):
    members = {f"x/{number}.png": encoded(5, 5, seed=number) for number in range(300)}
    archive = write_tar(tmp_path / "a.tar.gz", dict(reversed(members.items())))
    (tmp_path / "tar").mkdir()
    tar = Made(tmp_path / "tar", None, archive=archive, threads=3).open()
    whole = Made(tmp_path, members).open()
    assert torch.equal(images_of(tar, range(300)), images_of(whole, range(300)))


def test_packing_twice_gives_equal_pixels(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(9, 9)}, 7)
    first = made.pixels.read_bytes()
    pack_module.pack(tmp_path / "index", [made.archive], 7, "rgb", made.pixels, made.table)
    assert made.pixels.read_bytes() == first


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


@pytest.mark.slow
def test_omniglot_at_28_pixels_is_what_torchvision_makes_of_it(shared, tmp_path):
    folder = shared / "datasets" / "omniglot"
    zips = [folder / "images_background.zip", folder / "images_evaluation.zip"]
    index(zips, "omniglot", tmp_path / "index")
    pack_module.pack(tmp_path / "index", zips, 28, "gray", tmp_path / "p.npy", tmp_path / "t")
    pixels = Pixels(tmp_path / "p.npy", tmp_path / "t")
    assert pixels.shape == (1, 28, 28)
    assert len(pixels) == 32_460
    assert is_as_packed(tmp_path / "p.npy", tmp_path / "t")
    rows = pandas.read_parquet(tmp_path / "index").sample(50, random_state=0)
    archives = {path.name: zipfile.ZipFile(path) for path in zips}
    for row in rows.itertuples():
        with archives[row.archive].open(row.member) as file:
            expected = F.pil_to_tensor(F.resize(Image.open(file).convert("L"), 28))
        assert torch.equal(images_of(pixels, [row.image_id])[0], expected)


@pytest.mark.slow
def test_grocery_keeps_its_shapes_at_64_pixels(shared, tmp_path):
    archive = shared / "datasets" / "grocery81" / "grocery81.zip"
    index([archive], "grocery", tmp_path / "index")
    pack_module.pack(
        tmp_path / "index", [archive], 64, "rgb", tmp_path / "p.npy", tmp_path / "t", threads=2
    )
    pixels = Pixels(tmp_path / "p.npy", tmp_path / "t")
    assert len(pixels) == 5_421
    shapes = pandas.read_parquet(tmp_path / "t")[["height", "width"]]
    assert shapes.min(axis=1).eq(64).all()
    rows = pandas.read_parquet(tmp_path / "index").sample(20, random_state=0)
    with zipfile.ZipFile(archive) as file:
        for row in rows.itertuples():
            image = ImageOps.exif_transpose(Image.open(file.open(row.member))).convert("RGB")
            expected = F.pil_to_tensor(F.resize(image, 64))
            assert torch.equal(images_of(pixels, [row.image_id])[0], expected)

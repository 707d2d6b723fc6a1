"""Packed pixels: training gets what Pillow decodes, and damage is always detected."""

import io
import os
import zipfile
import zlib

import numpy as np
import pandas
import PIL
import pyarrow.parquet as pq
import pytest
import torch
from dmlbench.data import _tables
from dmlbench.data import pack as pack_module
from dmlbench.data.index import index
from dmlbench.data.pixels import Pixels
from dmlbench.errors import UserError
from layout_archives import write_tar
from packing import Made, encoded
from PIL import Image, ImageOps
from stores import images_of, is_as_packed
from torchvision.transforms import functional as F


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


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="as on a node of Slurm")
def test_with_fewer_cores_than_threads_pixels_are_the_same(tmp_path):
    members = {f"{i % 2}/{i}.png": encoded(5 + i, 9, seed=i) for i in range(12)}
    allowed, made = os.sched_getaffinity(0), []
    try:
        for cores in (allowed, {min(allowed)}):
            os.sched_setaffinity(0, cores)
            folder = tmp_path / str(len(made))
            folder.mkdir()
            made.append(Made(folder, members, size=4, threads=8))
    finally:
        os.sched_setaffinity(0, allowed)
    whole, one = made
    assert whole.pixels.read_bytes() == one.pixels.read_bytes()
    assert pq.read_table(whole.table).equals(pq.read_table(one.table))


def test_packing_twice_gives_equal_pixels(tmp_path):
    made = Made(tmp_path, {"x/1.png": encoded(9, 9)}, 7)
    first = made.pixels.read_bytes()
    pack_module.pack(tmp_path / "index", [made.archive], 7, "rgb", made.pixels, made.table)
    assert made.pixels.read_bytes() == first


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

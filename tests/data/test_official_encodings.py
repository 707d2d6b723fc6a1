"""Reduced images from archives in the official layouts: which pixels, and whose data."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pandas
import pytest
from dmlbench import plan
from dmlbench.data.index import BOX, index, read_index
from dmlbench.data.pack import pack
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.graph.inputs import Inputs
from layout_archives import rows_of, unpacked, write_tar, write_zip
from PIL import Image
from pydantic import ValidationError
from scipy.io import loadmat, savemat

CONFIG = Path(__file__).resolve().parents[2] / "config"
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["demo"]}
OFFICIAL = {"cub200_160": "official", "cars196_160": "official", "grocery81": "official"}
RNG = np.random.default_rng(0)
SOME = 12


def planned(**alternatives):
    return plan.load(CONFIGURATION | {"data": {"alternatives": alternatives}}, CONFIG)


@pytest.fixture(scope="module")
def official():
    return planned(**OFFICIAL)


def photograph(width, height):
    """A picture of noise, as a JPEG."""
    pixels = RNG.integers(0, 256, (height, width, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def prepared(folder, paths, entry):
    """The index and the packed pixels of a data set with few images."""
    layout = entry.layout
    index(paths, layout.name, folder / "index", options=layout.hyperparameters)
    files = folder / "pixels.npy", folder / "pixels.parquet"
    pack(folder / "index", paths, 160, "rgb", *files, reduced_to=entry.encoding.reduced_to)
    flat, table = np.load(files[0]), pandas.read_parquet(files[1])
    images = [
        flat[row.offset :][: row.height * row.width * 3].reshape(row.height, row.width, 3)
        for row in table.itertuples()
    ]
    return read_index(folder / "index"), images


def seen(data, box, *sizes):
    """A photograph as Pillow cuts it out and resizes it, one size after another."""
    image = Image.open(io.BytesIO(data)).crop(box) if box else Image.open(io.BytesIO(data))
    for size in sizes:
        image = image.resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image)


def test_birds_have_a_shorter_side_of_160(official, shared, tmp_path):
    folder = shared / "datasets" / "annotations" / "cub200_2011"
    names = ("images", "image_class_labels", "train_test_split")
    lists = {name: unpacked(folder / f"{name}.txt.gz").decode().splitlines() for name in names}
    lists = {name: lines[:SOME] for name, lines in lists.items()}
    paths = [line.split()[1] for line in lists["images"]]
    images = {f"CUB_200_2011/images/{path}": photograph(500, 333) for path in paths}
    members = {f"CUB_200_2011/{name}.txt": "\n".join(lines) for name, lines in lists.items()}
    archive = write_tar(tmp_path / "CUB_200_2011.tgz", members | images)
    rows, pixels = prepared(tmp_path, [archive], official.datasets["cub200_160"])
    assert rows["member"].tolist() == [f"CUB_200_2011/images/{path}" for path in paths]
    for place, member in enumerate(rows["member"]):
        assert (pixels[place] == seen(images[member], None, (240, 160))).all()


def test_cars_are_cut_out_with_a_margin_and_squeezed(official, shared, tmp_path):
    file = loadmat(shared / "datasets/annotations/cars196/cars_annos_rebuilt.mat")
    few = {"annotations": file["annotations"][:, :SOME], "class_names": file["class_names"]}
    savemat(tmp_path / "cars_annos.mat", few)
    rows = [[each.item() for each in row] for row in few["annotations"][0]]
    sizes = [(max(row[3] + 5, row[1] + 40), row[4] + 30) for row in rows]
    images = {row[0]: photograph(*size) for row, size in zip(rows, sizes, strict=True)}
    paths = [write_tar(tmp_path / "car_ims.tgz", images), tmp_path / "cars_annos.mat"]
    found, pixels = prepared(tmp_path, paths, official.datasets["cars196_160"])
    for place, (row, (width, height)) in enumerate(zip(rows, sizes, strict=True)):
        left, top, right, bottom = row[1:5]
        # The first pixel has number 1; a margin ends where the photograph does.
        box = max(left - 17, 0), max(top - 17, 0), min(right + 16, width), min(bottom + 16, height)
        assert tuple(found.loc[place, list(BOX)]) == box
        assert (pixels[place] == seen(images[row[0]], box, (160, 160))).all()


def test_cars_without_boxes_cannot_be_cut_out(tmp_path):
    cars = write_zip(tmp_path / "a.zip", {"cars/Alpha/000001.jpg": b"x"})
    assert len(rows_of("cars196", cars)) == 1
    with pytest.raises(UserError, match=r"no cars_annos.mat, .* has their boxes"):
        rows_of("cars196", cars, margin=16)


GROCERY = {
    "classes.csv": "Class Name (str),Class ID (int),Coarse\nKiwi,0,Kiwi\nMilk,1,Milk\n",
    "train.txt": "train/Packages/Milk/Milk_001.jpg, 1, 1\ntrain/Fruit/Kiwi/Kiwi_001.jpg, 0, 0\n",
    "val.txt": "val/Fruit/Kiwi/Kiwi_001.jpg, 0, 0\n",
    "test.txt": "test/Fruit/Kiwi/Kiwi_002.jpg, 0, 0\ntest/Fruit/Kiwi/Kiwi_001.jpg, 0, 0\n",
}
LISTED = ["train/Packages/Milk/Milk_001", "train/Fruit/Kiwi/Kiwi_001"]
LISTED += ["val/Fruit/Kiwi/Kiwi_001", "test/Fruit/Kiwi/Kiwi_002", "test/Fruit/Kiwi/Kiwi_001"]


def grocery(folder, **lists):
    members = {f"Store-1/dataset/{name}": text for name, text in (GROCERY | lists).items()}
    images = {f"Store-1/dataset/{path}.jpg": photograph(348, 464) for path in LISTED}
    iconic = {"Store-1/dataset/iconic/Kiwi.jpg": b"not a photograph of the data set"}
    return write_tar(folder / "store.tar.gz", members | images | iconic), images


def test_food_has_a_shorter_side_of_144_before_it_is_packed(official, tmp_path):
    archive, images = grocery(tmp_path)
    rows, pixels = prepared(tmp_path, [archive], official.datasets["grocery81"])
    assert rows["class_name"].tolist() == ["Kiwi"] * 4 + ["Milk"]
    assert rows["subset"].tolist() == ["test", "test", "train", "validation", "train"]
    assert rows["member"].str[-12:].tolist()[:2] == ["Kiwi_001.jpg", "Kiwi_002.jpg"]
    for place, member in enumerate(rows["member"]):
        assert (pixels[place] == seen(images[member], None, (144, 192), (160, 213))).all()


@pytest.mark.parametrize(
    ("lists", "named"),
    [
        (
            {"val.txt": "val/a.jpg, 7, 0"},
            r"val.txt: 'val/a.jpg, 7, 0'; allowed: a path, a class of",
        ),
        ({"val.txt": "val/a.jpg"}, r"val.txt: 'val/a.jpg'; allowed: a path, a class of"),
        ({"val.txt": "val/a.jpg, 1, 0"}, r"1 of 5 images that the layout grocery_store lists"),
    ],
)
def test_lists_of_food_that_do_not_fit_are_refused(tmp_path, lists, named):
    with pytest.raises(UserError, match=named):
        rows_of("grocery_store", grocery(tmp_path, **lists)[0])


def test_an_archive_without_a_hash_is_known_by_its_images(tmp_path):
    images = {"a/1.jpg": photograph(9, 8), "a/0.jpg": photograph(8, 9)}
    archive = write_zip(tmp_path / "a.zip", images)
    lines = "\n".join(hashlib.sha256(images[name]).hexdigest() for name in sorted(images))
    digest = hashlib.sha256(lines.encode()).hexdigest()
    index([archive], "class_folders", tmp_path / "index", images_sha256=digest)
    with pytest.raises(
        UserError, match=f"a.zip: other images than expected: .*{digest[:16]}, not "
    ):
        index([archive], "class_folders", tmp_path / "index", images_sha256="0" * 64)


@pytest.mark.parametrize("name", OFFICIAL)
def test_another_encoding_is_other_data_with_the_same_counts_and_splits(official, name):
    ours, theirs = planned().data(name), official.data(name)
    assert ours.folder != theirs.folder
    assert [ours.entry.images, ours.entry.classes] == [theirs.entry.images, theirs.entry.classes]
    source = official.datasets[theirs.entry.encoding.of]
    assert [source.images, source.classes] == [theirs.entry.images, theirs.entry.classes]
    # Downloaded once, where the data set has it that is published like this.
    archives = Inputs(RunIndex(official, Path("plan.json"), fresh=True)).index(theirs.folder)
    assert archives["archives"] == [
        f"<results>/data/raw/{theirs.entry.encoding.of}/{archive}" for archive in source.archives
    ]


def test_all_archives_of_the_official_cars_are_the_same_data(official):
    again = planned(**OFFICIAL, cars196="car_ims")
    assert list(again.datasets["cars196_160"].archives) == ["car_ims.tgz", "cars_annos.mat"]
    assert again.data("cars196_160").folder == official.data("cars196_160").folder


def test_how_far_images_are_reduced_is_part_of_the_data():
    folders = set()
    for reduced_to in (160, 144, (160, 160)):
        loaded = planned(cub200_160="official")
        entry = loaded.datasets["cub200_160"]
        encoding = entry.encoding.model_copy(update={"reduced_to": reduced_to})
        loaded.datasets["cub200_160"] = entry.model_copy(update={"encoding": encoding})
        folders.add(loaded.data("cub200_160").folder)
    assert len(folders) == 3


def test_a_name_is_an_alternative_or_an_encoding(official):
    values = official.datasets["cub200_160"].model_dump()
    values["alternatives"] = {"official": values["archives"]}
    with pytest.raises(ValidationError, match="official is an alternative and an encoding"):
        Dataset(**values)
    with pytest.raises(UserError, match=r"data.alternatives.cub200_160: .*did you mean 'official'"):
        planned(cub200_160="offical")

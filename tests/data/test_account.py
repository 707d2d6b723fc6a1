"""The account of a user's folder: everything in it is used, or counted and named."""

import io
import os

import numpy as np
import pandas
import pytest
from dmlbench import registry
from dmlbench.data.account import account_of
from dmlbench.data.archives import Archive
from dmlbench.data.index import index, read_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.plan.specs.contents import read_contents
from layout_archives import write_folder, write_zip
from PIL import Image

UPRIGHT = {
    1: lambda stored: stored,
    2: lambda stored: stored[:, ::-1],
    3: lambda stored: stored[::-1, ::-1],
    4: lambda stored: stored[::-1],
    5: lambda stored: stored.T,
    6: lambda stored: np.rot90(stored, -1),
    7: lambda stored: stored[::-1, ::-1].T,
    8: np.rot90,
}
"""Orientation of the EXIF standard -> the upright image, by NumPy."""


def picture(seed, suffix="PNG", orientation=1, dtype=np.uint8):
    pixels = np.random.default_rng(seed).integers(0, 255, (5, 8), dtype=dtype)
    exif = Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, suffix, exif=exif)
    return buffer.getvalue()


def test_everything_in_a_folder_is_used_or_named(tmp_path):
    folder = write_folder(
        tmp_path / "photos",
        {
            "iris/1.png": picture(1),
            "iris/2.jfif": picture(2, "JPEG"),
            "iris/3.jpe": picture(3, "JPEG", orientation=6),
            "lily/1.png": picture(1),
            "lily/2.png": picture(4),
            "rose/1.tif": picture(5, "TIFF", orientation=8),
            "rose/2.png": picture(6),
            "tulip: it's \\ & more/1.png": picture(7),
            "iris/Thumbs.db": b"",
            "notes.txt": b"",
            ".hidden/1.png": b"",
            "iris/5.HEIC": b"",
            "iris/@eaDir/1.jpg/SYNO.jpg": b"",
        },
    )
    (folder / "violet").symlink_to(tmp_path / "elsewhere")
    write_folder(tmp_path / "elsewhere", {"1.png": picture(8), "2.png": picture(9)})
    (folder / "rose" / "3.png").symlink_to(folder / "rose" / "2.png")
    contents = read_contents(str(folder), tmp_path / "memory").identity
    index([folder], "class_folders", tmp_path / "index", contents=contents)
    split(tmp_path / "index", "half", tmp_path / "split")
    assert account_of(tmp_path / "index", tmp_path / "split") == {
        "Images": "11 of 5 classes",
        "Left out": "1 hidden (.hidden); 1 not an image (.db) (iris/Thumbs.db); 1 not an image "
        "(.heic) (iris/5.HEIC): convert them to .jpg; 1 not an image (.txt) (notes.txt); 1 of a "
        "NAS or desktop system (iris/@eaDir)",
        "Classes with one image": "1 (tulip: it's \\ & more)",
        "Classes with two images": "2 (lily, violet)",
        "Classes that look alike": "none",
        "Identical images": "4 in 2 groups, 0 with images on both sides of the split, 1 with "
        "several classes (iris/1.png = lily/1.png, rose/2.png = rose/3.png)",
        "Links": "2",
        "Turned upright": "2",
        "Depth": "8 bits",
    }
    pack(tmp_path / "index", [folder], 4, "gray", tmp_path / "p.npy", tmp_path / "p.parquet")


def test_what_is_no_file_and_values_of_several_depths_are_named(tmp_path):
    folder = write_folder(
        tmp_path / "photos",
        {"iris/1.png": picture(1), "iris/2.png": picture(2, dtype=np.uint16)}
        | {f"lily/{number}.png": picture(number) for number in range(3, 8)}
        | {f"lily/{number}.raw": b"" for number in range(5)},
    )
    os.mkfifo(folder / "iris" / "pipe.png")
    (folder / "iris" / "zero.png").symlink_to("/dev/zero")
    (folder / "iris" / "all").symlink_to(folder)
    (folder / "iris" / "gone.txt").symlink_to("nowhere")
    (folder / "iris" / "bits").symlink_to(folder / "lily" / "3.png")
    contents = read_contents(str(folder), tmp_path / "memory").identity
    index([folder], "class_folders", tmp_path / "index", contents=contents)
    split(tmp_path / "index", "half", tmp_path / "split")
    account = account_of(tmp_path / "index", tmp_path / "split")
    assert account["Images"] == "7 of 2 classes"
    assert account["Left out"] == (
        "1 a link to a folder that it is in (iris/all/); 1 a link to nothing (iris/gone.txt); "
        "2 a pipe, socket or device (iris/pipe.png, iris/zero.png); 5 not an image (.raw) "
        "(lily/0.raw, lily/1.raw, lily/2.raw, ...); 1 not an image (no suffix) (iris/bits)"
    )
    assert account["Depth"] == "1 of 16 bits, 6 of 8 bits"


def test_classes_that_look_alike_are_named(tmp_path):
    """Two forms of Unicode, blanks at the end, upper and lower case: a reader sees five classes."""
    names = ["caf\u00e9", "cafe\u0301", "rose", "rose ", "Cat", "cat", "g", "h"]
    members = {f"{name}/{number}.png": picture(number) for name in names for number in (1, 2)}
    index([write_folder(tmp_path / "photos", members)], "class_folders", tmp_path / "index")
    split(tmp_path / "index", "half", tmp_path / "split")
    said = account_of(tmp_path / "index", tmp_path / "split")["Classes that look alike"]
    assert said == "3 ('Cat' = 'cat', 'cafe\u0301' = 'caf\u00e9', 'rose' = 'rose ')"


def test_identical_images_on_both_sides_of_the_split_are_counted(tmp_path):
    members = {f"{name}/{number}.png": picture(number) for name in "abcd" for number in (1, 2)}
    index([write_folder(tmp_path / "photos", members)], "class_folders", tmp_path / "index")
    split(tmp_path / "index", "half", tmp_path / "split")
    account = account_of(tmp_path / "index", tmp_path / "split")
    assert account["Identical images"].startswith(
        "8 in 2 groups, 2 with images on both sides of the split, 2 with several classes (a/"
    )


def test_a_zip_has_an_account_as_well(tmp_path):
    members = {"a/1.png": picture(1), "b/1.png": picture(2), "b/readme.md": b"", "__MACOSX/x": b""}
    index([write_zip(tmp_path / "a.zip", members)], "class_folders", tmp_path / "index")
    split(tmp_path / "index", "half", tmp_path / "split")
    account = account_of(tmp_path / "index", tmp_path / "split")
    assert account["Left out"] == (
        "1 not an image (.md) (b/readme.md); 1 of a NAS or desktop system (__MACOSX/x)"
    )


@pytest.mark.parametrize("suffix", ["PNG", "TIFF", "JPEG"])
@pytest.mark.parametrize("orientation", UPRIGHT)
def test_an_orientation_is_applied_once_in_index_and_pixels(tmp_path, suffix, orientation):
    source = Image.open(io.BytesIO(picture(1, suffix)))
    expected = UPRIGHT[orientation](np.asarray(source))
    data = picture(1, suffix, orientation)
    folder = write_folder(tmp_path / "photos", {f"a/1.{suffix.lower()}": data})
    index([folder], "class_folders", tmp_path / "index")
    rows = read_index(tmp_path / "index")
    assert rows[["height", "width"]].values.tolist() == [list(expected.shape)]
    pack(tmp_path / "index", [folder], None, "gray", tmp_path / "p.npy", tmp_path / "p.parquet")
    assert (np.load(tmp_path / "p.npy").reshape(expected.shape) == expected).all()
    (converted,) = pandas.read_parquet(tmp_path / "p.parquet")["converted"]
    assert (converted == "turned") is (orientation != 1)


@pytest.mark.parametrize("layout", ["class_folders", "top_folders"])
def test_thumbnails_of_a_nas_are_not_images(tmp_path, layout):
    members = {f"{name}/1.png": picture(1) for name in ("a", "b", "a/@eaDir", "b/#recycle")}
    with Archive(write_folder(tmp_path / "photos", members)) as archive:
        assert len(registry.build("data/layouts", layout)([archive])) == 2


def test_what_changes_after_the_plan_is_refused(tmp_path):
    members = {f"{name}/1.png": picture(number) for number, name in enumerate("abcd")}
    folder = write_folder(tmp_path / "photos", members)
    contents = read_contents(str(folder), tmp_path / "memory").identity
    (folder / "a" / "1.png").write_bytes(picture(9))
    with pytest.raises(UserError, match="photos: has changed since this call began"):
        index([folder], "class_folders", tmp_path / "index", contents=contents)
    assert not (tmp_path / "index").exists()
    (folder / "a" / "1.png").write_bytes(members["a/1.png"])
    index([folder], "class_folders", tmp_path / "index", contents=contents)
    (folder / "b" / "1.png").write_bytes(picture(9))
    pixels = [tmp_path / "p.npy", tmp_path / "p.parquet"]
    with pytest.raises(UserError, match=r"photos: b/1\.png has changed since it was indexed"):
        pack(tmp_path / "index", [folder], 4, "gray", *pixels)
    assert not any(file.exists() for file in pixels)


def test_a_zip_that_changes_after_the_plan_is_refused(tmp_path):
    members = {f"{name}/1.jfif": picture(number, "JPEG") for number, name in enumerate("abcd")}
    archive = write_zip(tmp_path / "a.zip", members)
    contents = read_contents(str(archive), tmp_path / "memory").identity
    index([archive], "class_folders", tmp_path / "index", contents=contents)
    write_zip(tmp_path / "a.zip", members | {"e/1.jfif": picture(9, "JPEG")})
    with pytest.raises(UserError, match=r"a\.zip: has changed since this call began"):
        index([archive], "class_folders", tmp_path / "again", contents=contents)


@pytest.mark.parametrize(("largest", "refused"), [(4095, True), (255, True), (4096, False)])
def test_12_bits_in_files_of_16_are_refused_in_one_line(tmp_path, largest, refused):
    buffer = io.BytesIO()
    Image.fromarray(np.array([[0, largest]], dtype=np.uint16)).save(buffer, "PNG")
    folder = write_folder(
        tmp_path / "photos", {"a/1.png": buffer.getvalue(), "a/2.png": picture(1)}
    )
    index([folder], "class_folders", tmp_path / "index")
    arguments = (tmp_path / "index", [folder], None, "gray", tmp_path / "p.npy", tmp_path / "table")
    if not refused:
        pack(*arguments)
        return
    with pytest.raises(
        UserError, match=f"photos: no value in the images of 16 bits is above {largest}"
    ):
        pack(*arguments)
    assert not (tmp_path / "p.npy").exists()

"""Indices of archives that are read in place, small and real ones."""

import hashlib
import io
import json
import tarfile
import zipfile

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
from dmlbench.data import _tables
from dmlbench.data.index import index, read_index
from dmlbench.errors import UserError
from layout_archives import write_folder, write_tar, write_zip
from PIL import Image


def image_bytes(width=6, height=4, suffix="PNG", **options):
    pixels = np.random.default_rng(width * 100 + height).integers(0, 255, (height, width, 3))
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, suffix, **options)
    return buffer.getvalue()


MEMBERS = {
    "top/dog/2.png": image_bytes(8, 4),
    "top/cat/1.jpg": image_bytes(6, 5, "JPEG"),
    "top/dog/1.png": image_bytes(7, 4),
    "top/readme.txt": b"no image",
    "__MACOSX/top/dog/._1.png": b"no image either",
}


@pytest.mark.parametrize("write", [write_zip, write_tar, write_folder])
def test_class_folders_in_every_kind_of_archive(tmp_path, write):
    archive = write(tmp_path / "animals", MEMBERS)
    index([archive], "class_folders", tmp_path / "images.parquet", images=3, classes=2)
    rows = read_index(tmp_path / "images.parquet")
    expected = pandas.DataFrame(
        {
            "image_id": [0, 1, 2],
            "archive": "animals",
            "member": ["top/cat/1.jpg", "top/dog/1.png", "top/dog/2.png"],
            "label": np.array([0, 1, 1], dtype="int32"),
            "class_name": ["cat", "dog", "dog"],
            "subset": "all",
            "width": np.array([6, 7, 8], dtype="int32"),
            "height": np.array([5, 4, 4], dtype="int32"),
            "sha256": [hashlib.sha256(MEMBERS[name]).hexdigest() for name in sorted(MEMBERS)[1:4]],
        }
    )
    pandas.testing.assert_frame_equal(rows, expected, check_dtype=False)
    schema = pq.read_schema(tmp_path / "images.parquet")
    assert str(schema.field("image_id").type) == "int64"
    assert str(schema.field("label").type) == "int32"


def test_metadata_hold_the_digests_of_archives_and_rows(tmp_path):
    for name in ("one", "two"):
        write_zip(tmp_path / f"{name}.zip", MEMBERS)
        index([tmp_path / f"{name}.zip"], "class_folders", tmp_path / name)
    facts = _tables.table_facts(tmp_path / "one")
    assert facts["layout"] == "class_folders"
    assert facts["archives"]["one.zip"]["bytes"] == (tmp_path / "one.zip").stat().st_size
    assert len(facts["archives"]["one.zip"]["sha256"]) == 64
    assert facts["rows_sha256"] != _tables.table_facts(tmp_path / "two")["rows_sha256"]
    assert json.dumps(facts)


def test_classes_of_several_archives_are_joined_by_name(tmp_path):
    first = write_zip(tmp_path / "a.zip", {"a/x/1.png": image_bytes(), "a/y/1.png": image_bytes()})
    second = write_zip(tmp_path / "b.zip", {"y/2.png": image_bytes(), "z/1.png": image_bytes()})
    index([first, second], "class_folders", tmp_path / "out", classes=3)
    rows = read_index(tmp_path / "out")
    assert rows["class_name"].tolist() == ["x", "y", "y", "z"]
    assert rows["archive"].tolist() == ["a.zip", "a.zip", "b.zip", "b.zip"]


def test_members_may_begin_with_a_dot_and_a_slash(tmp_path):
    archive = write_tar(tmp_path / "a.tar", {f"./{name}": data for name, data in MEMBERS.items()})
    index([archive], "class_folders", tmp_path / "out", images=3)
    assert read_index(tmp_path / "out")["class_name"].tolist() == ["cat", "dog", "dog"]
    archive = write_tar(tmp_path / "b.tar", {"./1.png": image_bytes()})
    with pytest.raises(UserError, match="not in a class folder"):
        index([archive], "class_folders", tmp_path / "out")


def test_width_and_height_are_those_of_the_upright_image(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    archive = write_zip(tmp_path / "a.zip", {"x/1.jpg": image_bytes(6, 4, "JPEG", exif=exif)})
    index([archive], "class_folders", tmp_path / "out")
    assert read_index(tmp_path / "out")[["width", "height"]].values.tolist() == [[4, 6]]


@pytest.mark.parametrize(("what", "expected"), [("images", 4), ("classes", 3)])
def test_wrong_counts_name_expected_and_found(tmp_path, what, expected):
    archive = write_zip(tmp_path / "a.zip", MEMBERS)
    with pytest.raises(UserError, match=rf"a\.zip: expected {expected} {what}, found "):
        index([archive], "class_folders", tmp_path / "out", **{what: expected})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../x/1.png", "/x/1.png", "x/../../y/1.png", "C:/x/1.png"])
@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_members_that_lead_out_of_the_archive_are_refused(tmp_path, write, name):
    archive = write(tmp_path / "a", {"x/2.png": image_bytes(), name: image_bytes()})
    with pytest.raises(UserError, match="leads out of the archive"):
        index([archive], "class_folders", tmp_path / "out")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("x/1.png")
        info.type, info.linkname = kind, "/etc/hostname"
        archive.addfile(info)
    with pytest.raises(UserError, match=r"x/1\.png.*link or a device"):
        index([tmp_path / "a.tar"], "class_folders", tmp_path / "out")


def test_links_in_a_zip_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("x/1.png")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/hostname")
    with pytest.raises(UserError, match="is a link"):
        index([tmp_path / "a.zip"], "class_folders", tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_occurs_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/1.png", image_bytes())
        archive.writestr("x/1.png", image_bytes(9, 9))
    with pytest.raises(UserError, match="occurs twice"):
        index([tmp_path / "a.zip"], "class_folders", tmp_path / "out")


def test_archives_that_are_none_are_refused(tmp_path):
    whole = write_zip(tmp_path / "whole.zip", MEMBERS).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    packed = write_tar(tmp_path / "whole.tgz", MEMBERS).read_bytes()
    (tmp_path / "cut.tgz").write_bytes(packed[: len(packed) // 2])
    for name in ("absent.zip", "cut.zip", "cut.tgz"):
        with pytest.raises(UserError, match=name):
            index([tmp_path / name], "class_folders", tmp_path / "out")


def test_an_image_without_a_header_is_named_with_its_archive(tmp_path):
    archive = write_zip(tmp_path / "a.zip", MEMBERS | {"top/dog/3.png": b"\x89PNG\r\n\x1a\n"})
    with pytest.raises(UserError, match=r"1 damaged image: a\.zip: top/dog/3\.png"):
        index([archive], "class_folders", tmp_path / "out")


def test_bad_layouts_and_archives_say_what_is_allowed(tmp_path):
    archive = write_zip(tmp_path / "a.zip", {"1.png": image_bytes()})
    with pytest.raises(UserError, match=r"allowed: .*class_folders"):
        index([archive], "class_folder", tmp_path / "out")
    with pytest.raises(UserError, match="not in a class folder"):
        index([archive], "class_folders", tmp_path / "out")
    with pytest.raises(UserError, match="does not fit the layout omniglot"):
        index([archive], "omniglot", tmp_path / "out")
    with pytest.raises(UserError, match=r"index\.csv"):
        index([archive], "grocery", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no image found"):
        index([tmp_path / "empty"], "class_folders", tmp_path / "out")
    (tmp_path / "sub").mkdir()
    second = write_zip(tmp_path / "sub" / "a.zip", MEMBERS)
    with pytest.raises(UserError, match="second archive of this name"):
        index([archive, second], "class_folders", tmp_path / "out")


def test_grocery_refuses_a_list_that_differs_from_the_archive(tmp_path):
    listed = "path,class_id,class_name,official_split\nimages/1.jpg,0,apple,train\n"
    archive = write_zip(
        tmp_path / "a.zip",
        {"grocery81/index.csv": listed, "grocery81/images/2.jpg": image_bytes()},
    )
    with pytest.raises(UserError, match="differ in 2 images"):
        index([archive], "grocery", tmp_path / "out")


@pytest.mark.slow
def test_omniglot_has_964_and_659_characters_of_20_drawings(shared, tmp_path):
    folder = shared / "datasets" / "omniglot"
    zips = [folder / "images_background.zip", folder / "images_evaluation.zip"]
    index(zips, "omniglot", tmp_path / "out", images=32_460, classes=1_623)
    rows = read_index(tmp_path / "out")
    assert rows.groupby("subset")["label"].nunique().to_dict() == {"train": 964, "test": 659}
    assert rows.groupby("subset").size().to_dict() == {"train": 19_280, "test": 13_180}
    assert rows.groupby("class_name").size().eq(20).all()
    assert rows.groupby("label")["class_name"].nunique().eq(1).all()
    assert rows[rows["subset"] == "train"]["label"].max() == 963
    assert set(zip(rows["width"], rows["height"], strict=True)) == {(105, 105)}


def test_grocery_has_81_classes(shared, tmp_path):
    archive = shared / "datasets" / "grocery81" / "grocery81.zip"
    index([archive], "grocery", tmp_path / "out", images=5_421, classes=81)
    rows = read_index(tmp_path / "out")
    assert rows["label"].is_monotonic_increasing
    assert set(rows["subset"]) == {"train", "validation", "test"}
    assert rows[["width", "height"]].min().min() == 144
    with zipfile.ZipFile(archive) as file:
        listed = pandas.read_csv(file.open("grocery81/index.csv"))
    listed["member"] = "grocery81/" + listed["path"]
    both = rows.merge(listed, on="member", suffixes=("", "_listed"))
    assert len(both) == 5_421
    for ours, theirs in (("width", "width_listed"), ("height", "height_listed")):
        assert (both[ours] == both[theirs]).all()
    assert (both["label"] == both["class_id"]).all()

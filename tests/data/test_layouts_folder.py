"""A user's data set: a folder of class folders, or one zip of it."""

import pandas
import pytest
import yaml
from dmlbench.data.index import index, read_index
from dmlbench.data.pack import pack
from dmlbench.data.pixels import Pixels
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.catalogues import Dataset
from dmlbench.plan.catalogs.read import checked
from layout_archives import pixel, write_folder, write_zip

MEMBERS = {f"{name}/{number}.png": pixel() for name in ("rose", "iris", "tulip") for number in "12"}
FOUR_LINES = """
title: My flowers
folder: ~/pictures/flowers
splits: {half: half}
metrics: [recall_at_1, r_precision, map_at_r]
"""


@pytest.mark.parametrize("kind", ["folder", "zip", "zip of the folder"])
def test_a_folder_and_a_zip_of_it_are_indexed_split_and_packed(tmp_path, kind):
    if kind == "folder":
        others = {"rose/.hidden.png": b"", "a.txt": b""}
        source = write_folder(tmp_path / "flowers", MEMBERS | others)
    else:
        top = "flowers/" if kind == "zip of the folder" else ""
        members = {f"{top}{name}": data for name, data in MEMBERS.items()}
        source = write_zip(tmp_path / "flowers.zip", members)
    out = tmp_path / "out"
    index([source], Dataset.model_fields["layout"].default.name, out / "index")
    rows = read_index(out / "index")
    assert rows["class_name"].tolist() == ["iris", "iris", "rose", "rose", "tulip", "tulip"]
    assert rows["label"].tolist() == [0, 0, 1, 1, 2, 2]
    split(out / "index", "half", out / "half")
    roles = pandas.read_parquet(out / "half")["role"].tolist()
    assert roles == ["train"] * 4 + ["test"] * 2
    pack(out / "index", [source], 1, "rgb", out / "pixels.npy", out / "pixels.parquet")
    assert Pixels(out / "pixels.npy", out / "pixels.parquet").shape == (3, 1, 1)


def test_four_lines_are_a_data_set():
    dataset = checked(yaml.safe_load(FOUR_LINES), Dataset, where="datasets.yaml")
    assert dataset.folder == "~/pictures/flowers"
    assert dataset.layout.name == "class_folders"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"folder": None}, "needs archives, a generator or a folder, and nothing with"),
        ({"generator": "glyphs"}, "needs archives, a generator or a folder, and nothing with"),
        ({"archives": {"a.zip": {}}}, "needs archives, a generator or a folder, and nothing with"),
        (
            {"folder": None, "generator": "glyphs", "archives": {"a.zip": {}}},
            "generator glyphs draws from no archives",
        ),
        (
            {"folder": None, "generator": {"name": "drawings", "renderer": "1"}},
            "generator drawings draws from archives",
        ),
        ({"alternatives": {"b": {"b.zip": {}}}}, "has alternatives to archives, but no archives"),
        ({"folder": "{dataset}"}, "'{dataset}'"),
        ({"layout": "class_folder"}, "did you mean 'class_folders'"),
    ],
)
def test_what_is_no_data_set_is_one_line(changes, named):
    values = yaml.safe_load(FOUR_LINES) | changes
    with pytest.raises(UserError, match=named) as error:
        checked(values, Dataset, where="datasets.yaml: my_flowers")
    assert "\n" not in str(error.value)


def indexed(tmp_path, layout, *members):
    """(class, subset) of every image of a folder, in the order of the labels."""
    source = write_folder(tmp_path / "flowers", dict.fromkeys(members, pixel()))
    index([source], layout, tmp_path / "index")
    rows = read_index(tmp_path / "index").sort_values(["label", "member"])
    return list(zip(rows["class_name"], rows["subset"], strict=True))


SUBSETS = ("train/rose/1.png", "train/iris/1.png", "test/rose/2.png", "Test/tulip/3.png")


def test_folders_of_subsets_are_no_classes(tmp_path):
    with pytest.raises(UserError) as error:
        indexed(tmp_path, "class_folders", *SUBSETS)
    line = str(error.value)
    assert "its folders are 'Test' and 'test' and 'train'" in line
    assert "`layout: subset_folders`" in line
    assert indexed(tmp_path, "subset_folders", *SUBSETS) == [
        ("iris", "train"),
        ("rose", "test"),
        ("rose", "train"),
        ("tulip", "test"),
    ]


def test_a_folder_that_is_no_subset_is_named(tmp_path):
    with pytest.raises(UserError, match=r"'more/rose/1\.png' is not in a class folder of a subset"):
        indexed(tmp_path, "subset_folders", *SUBSETS, "more/rose/1.png")


@pytest.mark.parametrize("other", ["iris/2.png", "iris/old/2.png"])
def test_folders_in_folders_are_offered_two_layouts(tmp_path, other):
    members = ("rose/new/1.png", "rose/old/2.png", other)
    with pytest.raises(UserError) as error:
        indexed(tmp_path, "class_folders", *members)
    assert "has folders in folders: " in str(error.value)
    assert "`layout: top_folders`" in str(error.value)
    assert "`layout: every_folder`" in str(error.value)
    assert indexed(tmp_path, "top_folders", *members) == [("iris", "all")] + [("rose", "all")] * 2
    every = [(other.rpartition("/")[0], "all"), ("rose/new", "all"), ("rose/old", "all")]
    assert indexed(tmp_path, "every_folder", *members) == every

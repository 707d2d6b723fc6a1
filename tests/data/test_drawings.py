"""Drawings: sets of icons, made up in the form of the packages, become classes and pictures."""

import hashlib
import importlib.metadata
import io
import zipfile

import numpy as np
import pandas
import pytest
from dmlbench.data.generate import generate
from dmlbench.data.index import index
from dmlbench.data.layouts.class_folders import ClassFolders
from dmlbench.errors import UserError
from icon_sets import icon_sets, square, three_sets
from PIL import Image

RENDERER = importlib.metadata.version("resvg-py")


def draw(folder, sets, **options):
    given = {"renderer": RENDERER, "size": 32, "designers": 2} | options
    generate("drawings", folder / "drawn.zip", sets, **given)
    return folder / "drawn.zip"


def pictures(drawn):
    with zipfile.ZipFile(drawn) as archive:
        return {
            name: np.asarray(Image.open(io.BytesIO(archive.read(name))).convert("RGB"))
            for name in archive.namelist()
        }


def test_a_class_is_a_name_that_enough_sets_draw(tmp_path):
    sets = three_sets(tmp_path)
    names, designers = ("sea-lion", "sun"), ("one", "three-v1", "two")
    of_all = [f"{name}/{designer}.png" for name in names for designer in designers]
    assert sorted(pictures(draw(tmp_path, sets, designers=3))) == of_all
    # Hidden ones do not count, nor do aliases: the moon has two, the dot none.
    of_two = sorted(pictures(draw(tmp_path, sets)))
    assert of_two == sorted([*of_all, "moon/one.png", "moon/three-v1.png"])
    of_one = sorted(pictures(draw(tmp_path, sets, designers=1)))
    assert of_one == sorted([*of_two, "hand/three-v1.png"])


def test_icons_are_on_white_in_their_colors_and_their_own_boxes(tmp_path):
    drawn = pictures(draw(tmp_path, three_sets(tmp_path)))
    assert {picture.shape for picture in drawn.values()} == {(32, 32, 3)}
    sun = drawn["sun/two.png"]
    assert sun[16, 16].tolist() == [255, 0, 0]
    assert sun[0, 0].tolist() == [255, 255, 255]
    # Its box begins at 4, so that the circle is in the middle of the picture.
    circle = (drawn["sun/three-v1.png"] == [0, 0, 255]).all(axis=2)
    assert np.abs(np.argwhere(circle).mean(axis=0) - 15.5).max() < 0.5


def test_another_folder_and_order_of_the_sets_give_the_same_bytes(tmp_path):
    (tmp_path / "other").mkdir()
    first = draw(tmp_path, three_sets(tmp_path))
    second = draw(tmp_path / "other", three_sets(tmp_path / "other")[::-1])
    assert first.read_bytes() == second.read_bytes()
    found = hashlib.sha256(first.read_bytes()).hexdigest()
    assert draw(tmp_path, three_sets(tmp_path), sha256=found) == first


def test_other_pixels_than_the_entry_names_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"drew [0-9a-f]{64}; allowed: 00, or `sha256: ") as error:
        draw(tmp_path, three_sets(tmp_path), sha256="00")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "drawn.zip").exists()


def test_another_renderer_is_refused(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=f"resvg-py is {RENDERER}; allowed: 0.0.1"):
        draw(tmp_path, three_sets(tmp_path), renderer="0.0.1")

    def absent(_):
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(UserError, match=f"resvg-py is not installed; allowed: {RENDERER}"):
        draw(tmp_path, three_sets(tmp_path))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"prefix": "a", "icons": {"sun": {}}}'])
def test_a_file_of_something_else_is_named(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UserError, match=r"a\.json: not a set of Iconify's JSON") as error:
        draw(tmp_path, [tmp_path / "a.json"])
    assert "\n" not in str(error.value)


def test_an_icon_that_cannot_be_drawn_is_named(tmp_path):
    with pytest.raises(UserError, match=r"drawings: sun/one\.png: "):
        draw(tmp_path, icon_sets(tmp_path, one={"sun": {"body": "<path"}}), designers=1)


def test_the_index_says_who_drew_a_picture_and_which_pictures_are_the_same(tmp_path):
    sets = three_sets(tmp_path)
    drawn = draw(tmp_path, sets)
    index([drawn], "drawings", tmp_path / "index.parquet", images=8, classes=3)
    rows = pandas.read_parquet(tmp_path / "index.parquet")
    assert rows["class_name"].unique().tolist() == ["moon", "sea-lion", "sun"]
    lions = rows[rows["class_name"] == "sea-lion"]
    assert lions["designer"].tolist() == ["one", "three-v1", "two"]
    names = rows.groupby("sha256")["class_name"].nunique()
    assert (names > 1).sum() == 0
    again = icon_sets(tmp_path, one={"a": square("red"), "b": square("red")})
    index([draw(tmp_path, again, designers=1)], "drawings", tmp_path / "index.parquet")
    rows = pandas.read_parquet(tmp_path / "index.parquet")
    assert rows.groupby("sha256")["class_name"].nunique().tolist() == [2]


def test_no_other_index_has_designers(tmp_path):
    drawn = draw(tmp_path, three_sets(tmp_path))
    index([drawn], "class_folders", tmp_path / "index.parquet")
    assert "designer" not in pandas.read_parquet(tmp_path / "index.parquet")
    assert "designer" not in ClassFolders()([])

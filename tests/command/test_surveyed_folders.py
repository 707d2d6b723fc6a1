"""What `dmlbench new` finds in a folder of images."""

import shutil

import pytest
from dmlbench.command.new import surveyed
from dmlbench.data.generate import generate
from dmlbench.errors import UserError
from dmlbench.plan.specs.contents import read_contents
from PIL import Image


def test_a_folder_is_surveyed(tmp_path):
    drawn = tmp_path / "drawn.zip"
    generate("glyphs", drawn, characters=9, images_per_character=3, size=16)
    found, account = surveyed(str(drawn), "class_folders")
    assert account["Images"] == "27 of 9 classes"
    assert (found.split, found.train, found.test) == ("half", [3] * 5, [3] * 4)
    folder = tmp_path / "folder"
    shutil.unpack_archive(drawn, folder / "train")
    shutil.unpack_archive(drawn, folder / "test")
    with pytest.raises(UserError, match="`layout: subset_folders`"):
        surveyed(str(folder), "class_folders")


def test_home_is_found_where_the_shell_does_not_replace_its_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in ("birds", "~no user"):
        generate("glyphs", tmp_path / "a.zip", characters=9, images_per_character=3, size=16)
        shutil.unpack_archive(tmp_path / "a.zip", tmp_path / folder)
    for given in ("~/birds", "~no user"):
        found, _ = surveyed(given, "class_folders")
        assert (found.folder, len(found.train)) == (given, 5)
        assert read_contents(given, tmp_path / "memory").identity


def test_a_folder_without_images_names_what_is_an_image(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.heic").touch()
    with pytest.raises(UserError, match=r"no image found .*; allowed: files that end in \.jpg, "):
        surveyed(str(tmp_path), "class_folders")


@pytest.mark.parametrize("tests", [["test"], ["query", "gallery"]])
@pytest.mark.parametrize(("tested", "split"), [("b", "official"), ("a", "official_closed")])
def test_subsets_are_split_as_they_come(tmp_path, tests, tested, split):
    for folder in ("train/a", *(f"{each}/{tested}" for each in tests)):
        (tmp_path / folder).mkdir(parents=True)
        Image.new("L", (1, 1)).save(tmp_path / folder / "1.png")
    found, _ = surveyed(str(tmp_path), "subset_folders")
    assert (found.split, found.train, found.test) == (split, [1], [len(tests)])

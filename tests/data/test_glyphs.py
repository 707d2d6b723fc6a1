"""Glyphs: learnable classes, equal bytes for equal seeds."""

import io
import zipfile

import numpy as np
import pytest
from dmlbench.data.generate import generate
from dmlbench.data.generators._characters import CHARACTERS, class_name, fonts
from dmlbench.errors import UserError
from PIL import Image, ImageFont


@pytest.fixture(scope="module")
def glyphs(tmp_path_factory):
    path = tmp_path_factory.mktemp("glyphs") / "glyphs.zip"
    generate("glyphs", path)
    return path


def read(path):
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
        images = [np.asarray(Image.open(io.BytesIO(archive.read(name)))) for name in members]
    return [member.split("/")[0] for member in members], np.stack(images)


@pytest.mark.slow
def test_at_least_200_characters_of_20_images(glyphs):
    classes, images = read(glyphs)
    assert images.shape == (4000, 28, 28)
    assert images.dtype == np.uint8
    assert all(classes.count(name) == 20 for name in set(classes))
    assert len(set(classes)) == 200


def test_both_halves_mix_the_scripts(glyphs):
    classes, _ = read(glyphs)
    ordered = sorted(set(classes))
    for half in (ordered[:100], ordered[100:]):
        for script in ("latin", "greek", "cyrillic", "digit"):
            assert any(script in name for name in half)


def test_every_image_shows_ink_and_no_two_are_equal(glyphs):
    _, images = read(glyphs)
    assert np.ptp(images.reshape(len(images), -1).astype(int), axis=1).min() > 60
    assert len(np.unique(images.reshape(len(images), -1), axis=0)) == len(images)


def test_classes_are_neither_trivial_nor_impossible_for_raw_pixels(glyphs):
    classes, images = read(glyphs)
    flat = images.reshape(len(images), -1).astype(np.float32)
    flat -= flat.mean(axis=1, keepdims=True)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    labels = np.unique(classes, return_inverse=True)[1]
    test = labels >= 100
    similarity = flat[test] @ flat[test].T
    np.fill_diagonal(similarity, -1)
    recall = (labels[test][similarity.argmax(axis=1)] == labels[test]).mean()
    assert 0.25 < recall < 0.5


def test_equal_seeds_give_equal_bytes_and_others_other_images(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate("glyphs", tmp_path / name, characters=5, images_per_character=3, seed=seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_size_and_numbers_are_the_ones_asked_for(tmp_path):
    generate("glyphs", tmp_path / "g.zip", characters=6, images_per_character=2, size=32)
    classes, images = read(tmp_path / "g.zip")
    assert images.shape == (12, 32, 32)
    assert len(set(classes)) == 6


def test_every_character_has_its_own_name_and_several_fonts_that_draw_it():
    assert len(set(CHARACTERS)) == len(CHARACTERS) >= 200
    assert len({class_name(character) for character in CHARACTERS}) == len(CHARACTERS)
    assert set(fonts()) == set(CHARACTERS)
    assert min(map(len, fonts().values())) >= 4


def test_no_font_draws_the_box_of_a_missing_glyph():
    missing = {}
    for character, files in fonts().items():
        for file in files:
            font = ImageFont.truetype(file, 40, layout_engine=ImageFont.Layout.BASIC)
            if file not in missing:
                missing[file] = bytes(font.getmask("\U0010fffd"))
            assert bytes(font.getmask(character)) != missing[file], (character, file.name)


@pytest.mark.parametrize(
    "wrong", [{"characters": 1}, {"characters": 9999}, {"size": 4}, {"images_per_character": 0}]
)
def test_numbers_that_cannot_be_are_refused_with_what_is_allowed(tmp_path, wrong):
    (name,) = wrong
    with pytest.raises(UserError, match=f"{name} is .*allowed"):
        generate("glyphs", tmp_path / "g.zip", **wrong)
    assert not list(tmp_path.iterdir())
